// One message as a list item: who, quote, text, document, time, and the keyboard under it.

import { el, icon, renderText, safeUrl } from "/page/entities.js";

const LONG_PRESS_MS = 450;

export function clockTime(date) {
  return new Date(date * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

export function dayName(date) {
  const day = new Date(date * 1000);
  const today = new Date();
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  if (day.toDateString() === today.toDateString()) return "Today";
  if (day.toDateString() === yesterday.toDateString()) return "Yesterday";
  const year = day.getFullYear() === today.getFullYear() ? undefined : "numeric";
  return day.toLocaleDateString([], { month: "long", day: "numeric", year });
}

/** One line that stands for a message in quotes and in the pinned bar. */
export function snippet(message) {
  const text = message.text || message.document?.file_name || "";
  return text.replace(/\s+/g, " ").trim().slice(0, 120);
}

function size(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}

/** context: own, name(from), quoted, busy(message, data), and the actions tap, reply, jump, send, copy. */
export function renderMessage(message, context) {
  const own = message.from === context.user;
  const item = el("li", {
    class: `message ${own ? "own" : "theirs"}`,
    "data-message-id": String(message.message_id),
    "data-date": String(message.date),
    "data-from": String(message.from),
  });
  const bubble = el("div", { class: "bubble" });
  if (context.group && !own) {
    bubble.append(el("div", { class: `name tint-${tint(message.from)}` }, context.name(message.from)));
  }
  if (context.quoted) bubble.append(renderQuote(context));
  if (message.document) bubble.append(renderDocument(message.document));
  const text = el("div", { class: "text" });
  text.append(renderText(message.text, message.entities, context));
  if (text.lastChild?.matches?.(".code, blockquote")) text.classList.add("ends-in-block");
  text.append(renderMeta(message, own));
  bubble.append(text);
  if (message.reaction) bubble.append(el("span", { class: "reaction" }, message.reaction));

  const reply = el("button", { type: "button", class: "reply", "aria-label": "Reply" }, icon("reply"));
  reply.addEventListener("click", () => context.reply(message));
  onLongPress(bubble, () => context.reply(message));
  const column = el("div", { class: "column" }, el("div", { class: "line" }, bubble, reply));
  if (message.buttons.length) {
    item.classList.add("with-keys");
    column.append(renderKeyboard(message, context));
  }
  item.append(column);
  return item;
}

export function tint(id) {
  return id === "bot" ? 0 : 1 + (Math.abs(Number(id)) % 5);
}

function renderMeta(message, own) {
  const meta = el("span", { class: "meta" });
  if (message.silent) meta.append(icon("mute"));
  if (message.edits) meta.append(el("span", { class: "edited" }, "edited"), " ");
  meta.append(el("time", { datetime: new Date(message.date * 1000).toISOString() }, clockTime(message.date)));
  if (own) meta.append(icon("check"));
  return meta;
}

function renderQuote(context) {
  const quoted = context.quoted;
  const quote = el(
    "button",
    { type: "button", class: `in-reply tint-${tint(quoted.from)}`, "aria-label": `In reply to ${context.name(quoted.from)}` },
    el("strong", {}, context.name(quoted.from)),
    el("span", {}, snippet(quoted)),
  );
  quote.addEventListener("click", () => context.jump(quoted.message_id));
  return quote;
}

function renderDocument(document) {
  return el(
    "a",
    { class: "document", href: document.url, download: document.file_name },
    el("span", { class: "disc" }, icon("file")),
    el("span", { class: "file" }, el("strong", {}, document.file_name), el("span", {}, size(document.size))),
  );
}

function renderKeyboard(message, context) {
  const keyboard = el("div", { class: "keyboard" });
  for (const row of message.buttons) {
    keyboard.append(el("div", { class: "row" }, ...row.map((button) => renderButton(message, button, context))));
  }
  return keyboard;
}

function renderButton(message, button, context) {
  const look = `key ${button.style || ""}`.trim();
  const label = el("span", {}, button.text);
  if (button.url) {
    return el("a", { class: look, href: safeUrl(button.url), target: "_blank", rel: "noopener noreferrer", title: button.text }, label, icon("link"));
  }
  const key = el("button", { type: "button", class: look, title: button.text }, label);
  if (button.copy_text) {
    key.append(icon("copy"));
    key.addEventListener("click", () => context.copy(button.copy_text.text));
    return key;
  }
  key.dataset.callbackData = button.callback_data;
  if (context.busy(message, button.callback_data)) markBusy(key, true);
  key.addEventListener("click", () => context.tap(message, button.callback_data));
  return key;
}

export function markBusy(key, busy) {
  key.classList.toggle("busy", busy);
  if (busy) key.setAttribute("aria-busy", "true");
  else key.removeAttribute("aria-busy");
}

function onLongPress(node, action) {
  let timer = 0;
  const cancel = () => clearTimeout(timer);
  node.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" || event.target.closest("button, a, pre")) return;
    timer = setTimeout(action, LONG_PRESS_MS);
  });
  for (const name of ["pointerup", "pointercancel", "pointermove", "pointerleave"]) node.addEventListener(name, cancel);
}
