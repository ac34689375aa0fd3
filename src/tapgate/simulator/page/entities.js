// A message's text and entities as DOM nodes. All content goes in as text nodes.

const INLINE = { bold: "strong", italic: "em", underline: "u", strikethrough: "s", code: "code" };
const BLOCKS = new Set(["pre", "blockquote", "expandable_blockquote"]);
const LINK_SCHEMES = new Set(["http:", "https:", "tg:"]);

/** An element with attributes and children; strings become text nodes. */
export function el(name, attributes = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(key, "");
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#i-${name}`);
  svg.append(use);
  return svg;
}

/** An address the page may open, or null. */
export function safeUrl(url) {
  try {
    const parsed = new URL(url);
    return LINK_SCHEMES.has(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

/** Offsets are UTF-16 units, as JavaScript counts. */
export function renderText(text, entities, actions) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  return renderRange(text, 0, text.length, sorted, actions);
}

function renderRange(text, start, end, entities, actions) {
  const fragment = document.createDocumentFragment();
  let at = start;
  for (let index = 0; index < entities.length; ) {
    const entity = entities[index];
    const from = Math.max(entity.offset, at);
    const to = Math.min(entity.offset + entity.length, end);
    const inside = [];
    for (index += 1; index < entities.length && entities[index].offset < to; index += 1) {
      inside.push(entities[index]);
    }
    if (to <= from) continue;
    const block = BLOCKS.has(entity.type);
    // A block breaks the line by itself, so the line break next to it would show twice.
    let before = text.slice(at, from);
    if (block && before.endsWith("\n")) before = before.slice(0, -1);
    if (before) fragment.append(before);
    fragment.append(renderEntity(text, from, to, entity, inside, actions));
    at = block && text[to] === "\n" && to < end ? to + 1 : to;
  }
  if (at < end) fragment.append(text.slice(at, end));
  return fragment;
}

function renderEntity(text, from, to, entity, inside, actions) {
  const plain = text.slice(from, to);
  const content = () => renderRange(text, from, to, inside, actions);
  switch (entity.type) {
    case "pre":
      return renderPre(plain, entity.language, actions);
    case "spoiler":
      return renderSpoiler(content());
    case "text_link": {
      const href = safeUrl(entity.url);
      if (!href) return content();
      return el("a", { href, target: "_blank", rel: "noopener noreferrer" }, content());
    }
    case "bot_command": {
      const command = el("button", { type: "button", class: "command" }, plain);
      command.addEventListener("click", () => actions.send(plain));
      return command;
    }
    case "blockquote":
      return el("blockquote", {}, content());
    case "expandable_blockquote":
      return renderExpandable(content());
    default:
      return INLINE[entity.type] ? el(INLINE[entity.type], {}, content()) : content();
  }
}

function renderPre(plain, language, actions) {
  const copy = el("button", { type: "button", class: "copy", "aria-label": "Copy code" }, icon("copy"));
  copy.addEventListener("click", () => actions.copy(plain));
  const code = el("code");
  if (language === "diff") {
    // The line break goes inside, where it ends the block and makes no line of its own.
    for (const line of plain.match(/[^\n]*\n|[^\n]+$/g) || []) {
      const kind = { "+": "added", "-": "removed", "@": "hunk" }[line[0]];
      code.append(kind ? el("span", { class: kind }, line) : line);
    }
  } else {
    code.append(plain);
  }
  return el(
    "div",
    { class: "code" },
    el("div", { class: "code-bar" }, el("span", {}, language || "code"), copy),
    el("pre", { tabindex: "0", "aria-label": language ? `Code in ${language}` : "Code" }, code),
  );
}

function renderSpoiler(content) {
  const hidden = el("span", { class: "spoiler", role: "button", tabindex: "0", "aria-label": "Hidden text, press to show" }, content);
  const reveal = () => {
    hidden.classList.add("shown");
    for (const name of ["role", "tabindex", "aria-label"]) hidden.removeAttribute(name);
  };
  hidden.addEventListener("click", reveal);
  hidden.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === " ") reveal();
  });
  return hidden;
}

function renderExpandable(content) {
  const body = el("div", { class: "fold" }, content);
  const toggle = el("button", { type: "button", class: "fold-toggle", "aria-expanded": "false" }, "Show more");
  const quote = el("blockquote", { class: "expandable folded" }, body, toggle);
  toggle.addEventListener("click", () => {
    const folded = quote.classList.toggle("folded");
    toggle.setAttribute("aria-expanded", String(!folded));
    toggle.textContent = folded ? "Show more" : "Show less";
  });
  return quote;
}
