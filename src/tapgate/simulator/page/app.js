// The phone: follows the server's stream, draws the chat, and sends taps and messages.

import { dayName, markBusy, renderMessage, snippet, tint } from "/page/bubble.js";
import { el } from "/page/entities.js";

const BUSY_MS = 30_000;
const TYPING_MS = 5_000;
const TOAST_MS = 3_500;
const NEAR_PX = 90;

const byId = (id) => document.getElementById(id);
const [log, scroll, composer, input, toast] = ["log", "scroll", "composer", "message", "toast"].map(byId);

const query = new URLSearchParams(location.search);
const view = { user: Number(query.get("user")) || null, chat: Number(query.get("chat")) || null };
let startPayload = query.get("start");
let state = null; // what the server last said about bot, users and chats
let stream = null;
let online = false;
let typingTimer = 0;
let toastTimer = 0;
let replyTo = null;
const chats = new Map(); // chat id -> Map of message id -> message
const unread = new Map(); // chat id -> messages that came unseen
const busy = new Map(); // "message id|data" -> timer
const taps = new Map(); // callback query id -> key in busy
const answers = new Map(); // callback query id -> an answer that came before its tap's response

// The stream.

function connect() {
  stream?.close();
  stream = new EventSource(view.user ? `/phone/events?user=${view.user}` : "/phone/events");
  stream.addEventListener("state", (event) => onState(JSON.parse(event.data)));
  stream.addEventListener("message", (event) => event.data && onMessage(JSON.parse(event.data)));
  stream.addEventListener("answer", (event) => onAnswer(JSON.parse(event.data)));
  stream.addEventListener("action", (event) => onAction(JSON.parse(event.data)));
  stream.onerror = () => {
    online = false;
    drawStatus();
    // The browser reconnects by itself unless the server answered with an error.
    if (stream.readyState === EventSource.CLOSED) setTimeout(connect, 1000);
  };
}

function onState(next) {
  online = true;
  state = next;
  view.user = next.user.id;
  if (!next.chats.some((chat) => chat.id === view.chat)) view.chat = next.chats[0].id;
  chats.clear();
  for (const message of next.messages) messagesOf(message.chat_id).set(message.message_id, message);
  drawHeader();
  drawLog();
  drawDock();
  offerForcedReply();
}

function onMessage(message) {
  const messages = messagesOf(message.chat_id);
  const isNew = !messages.has(message.message_id);
  if (message.deleted) messages.delete(message.message_id);
  else messages.set(message.message_id, message);
  if (message.chat_id !== view.chat) {
    if (isNew && message.from !== view.user) addUnread(message.chat_id);
    return;
  }
  const follow = message.from === view.user && isNew ? true : atBottom();
  drawMessage(message, isNew);
  drawPinned();
  if (follow) toBottom(isNew);
  else if (isNew) addUnread(message.chat_id);
  if (isNew && message.from === "bot") {
    clearTyping();
    offerForcedReply();
  }
  if (message.deleted && replyTo?.message_id === message.message_id) setReply(null);
}

function onAnswer(answer) {
  if (!taps.has(answer.callback_query_id)) {
    answers.set(answer.callback_query_id, answer);
    setTimeout(() => answers.delete(answer.callback_query_id), 5000);
    return;
  }
  setBusy(taps.get(answer.callback_query_id), false);
  taps.delete(answer.callback_query_id);
  if (!answer.text) return;
  if (answer.show_alert) showAlert(answer.text);
  else showToast(answer.text);
}

function onAction(action) {
  if (action.chat_id !== view.chat) return;
  clearTimeout(typingTimer);
  byId("status").textContent = action.action === "typing" ? "typing…" : "sending a file…";
  byId("status").classList.add("lively");
  typingTimer = setTimeout(clearTyping, TYPING_MS);
}

async function post(path, body) {
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    const value = await response.json();
    if (response.ok) return value;
    showToast(value.error || "That did not work");
  } catch {
    showToast("No connection to the simulator");
  }
  return null;
}

// What the person does.

async function tap(message, data) {
  const key = `${message.message_id}|${data}`;
  if (busy.has(key)) return;
  setBusy(key, true);
  const sent = await post("/phone/tap", {
    user_id: view.user, chat_id: message.chat_id, message_id: message.message_id, data,
  });
  if (!sent) return setBusy(key, false);
  taps.set(sent.callback_query_id, key);
  const early = answers.get(sent.callback_query_id);
  if (early) {
    answers.delete(sent.callback_query_id);
    onAnswer(early);
  }
}

async function send(text) {
  const body = { user_id: view.user, chat_id: view.chat, text };
  if (replyTo) body.reply_to_message_id = replyTo.message_id;
  const sent = await post("/phone/message", body);
  if (sent) setReply(null);
  return sent;
}

function setReply(message) {
  replyTo = message;
  byId("quote").hidden = !message;
  input.placeholder = (message?.force_reply && message.placeholder) || (message?.force_reply ? "Reply" : "Message");
  if (!message) return;
  byId("quote-name").textContent = `Reply to ${nameOf(message.from)}`;
  byId("quote-text").textContent = snippet(message);
  input.focus({ preventScroll: true });
}

/** Opens the reply box when the newest message asks for a reply. */
function offerForcedReply() {
  const newest = [...messagesOf(view.chat).values()].at(-1);
  if (newest?.force_reply && newest.from === "bot" && replyTo?.message_id !== newest.message_id) setReply(newest);
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    showToast("Copied to the clipboard");
  } catch {
    showToast("The browser does not allow copying here");
  }
}

function jump(messageId) {
  const item = log.querySelector(`[data-message-id="${messageId}"]`);
  if (!item) return;
  item.scrollIntoView({ block: "center", behavior: "smooth" });
  flash(item, "found");
}

function choose(change) {
  Object.assign(view, change);
  const url = new URL(location.href);
  for (const name of ["user", "chat"]) {
    if (view[name]) url.searchParams.set(name, view[name]);
    else url.searchParams.delete(name);
  }
  history.replaceState(null, "", url);
  setReply(null);
  showMenu(false);
  if (change.user) {
    unread.clear();
    connect();
  } else {
    drawHeader();
    drawLog();
    drawDock();
    offerForcedReply();
  }
}

// Drawing.

function messagesOf(chatId) {
  if (!chats.has(chatId)) chats.set(chatId, new Map());
  return chats.get(chatId);
}

function nameOf(from) {
  if (from === "bot") return state.bot.name;
  return state.users.find((user) => user.id === from)?.name || "Someone";
}

function currentChat() {
  return state.chats.find((chat) => chat.id === view.chat);
}

function drawLog() {
  const follow = atBottom() || !log.children.length;
  const top = scroll.scrollTop;
  log.replaceChildren(...[...messagesOf(view.chat).values()].map(renderItem));
  regroup();
  drawPinned();
  unread.delete(view.chat);
  drawUnread();
  if (follow || log.dataset.chat !== String(view.chat)) toBottom(false);
  else scroll.scrollTop = top;
  log.dataset.chat = String(view.chat);
}

function renderItem(message) {
  const messages = messagesOf(view.chat);
  return renderMessage(message, {
    user: view.user,
    group: currentChat().type !== "private",
    quoted: message.reply_to ? messages.get(message.reply_to) : null,
    name: nameOf,
    busy: (owner, data) => busy.has(`${owner.message_id}|${data}`),
    tap, reply: setReply, jump, send, copy,
  });
}

function drawMessage(message, isNew) {
  const old = log.querySelector(`[data-message-id="${message.message_id}"]`);
  if (message.deleted) {
    old?.remove();
  } else if (old) {
    const item = renderItem(message);
    old.replaceWith(item);
    flash(item, "changed");
  } else {
    const item = renderItem(message);
    log.append(item);
    if (isNew) flash(item, "arrived");
  }
  regroup();
}

/** Day separators, and the tail on the last bubble of a run. */
function regroup() {
  for (const separator of log.querySelectorAll(".day")) separator.remove();
  let previous = null;
  for (const item of [...log.children]) {
    const day = dayName(Number(item.dataset.date));
    if (!previous || dayName(Number(previous.dataset.date)) !== day) {
      item.before(el("li", { class: "day" }, el("span", { class: "chip" }, day)));
      previous?.classList.add("last");
      item.classList.add("first");
    } else {
      const run = previous.dataset.from === item.dataset.from;
      previous.classList.toggle("last", !run);
      item.classList.toggle("first", !run);
    }
    previous = item;
  }
  previous?.classList.add("last");
  byId("empty").hidden = Boolean(previous);
  for (const quote of log.querySelectorAll(".expandable.folded")) {
    const fold = quote.querySelector(".fold");
    quote.classList.toggle("short", fold.scrollHeight <= fold.clientHeight + 2);
  }
}

function drawHeader() {
  const chat = currentChat();
  byId("title").textContent = chat.title;
  const avatar = byId("avatar");
  avatar.className = `avatar ${chat.type === "private" ? "bot" : `tint-${tint(chat.id)}`}`;
  avatar.textContent = chat.type === "private" ? "" : chat.title.trim().slice(0, 1).toUpperCase();
  document.title = chat.title;
  drawStatus();
  drawUnread();
}

function drawStatus() {
  clearTimeout(typingTimer);
  const status = byId("status");
  status.classList.remove("lively");
  if (!online) status.textContent = "connecting…";
  else status.textContent = currentChat().type === "private" ? "bot" : `${currentChat().members} members`;
}

function clearTyping() {
  drawStatus();
}

function drawPinned() {
  const message = messagesOf(view.chat).get(currentChat().pinned);
  byId("pinned").hidden = !message;
  byId("pinned-text").textContent = message ? snippet(message) : "";
  byId("pinned").onclick = () => message && jump(message.message_id);
}

function drawDock() {
  const { started, blocked } = state.user;
  const privately = currentChat().type === "private";
  const offer = privately && (!started || blocked || startPayload !== null);
  byId("start").hidden = !offer;
  byId("start").textContent = blocked ? "Restart" : "Start";
  composer.hidden = offer;
  byId("commands-button").hidden = !state.commands.length;
  byId("commands").replaceChildren(
    ...state.commands.map((command) => {
      const item = el("button", { type: "button" }, el("strong", {}, `/${command.command}`), el("span", {}, command.description));
      item.addEventListener("click", () => {
        showCommands(false);
        send(`/${command.command}`);
      });
      return item;
    }),
  );
}

function drawUnread() {
  const here = unread.get(view.chat) || 0;
  byId("unread").hidden = !here;
  byId("unread").textContent = String(here);
  byId("menu-dot").hidden = ![...unread.keys()].some((chat) => chat !== view.chat);
}

function addUnread(chatId) {
  unread.set(chatId, (unread.get(chatId) || 0) + 1);
  drawUnread();
}

function setBusy(key, on) {
  clearTimeout(busy.get(key));
  if (on) busy.set(key, setTimeout(() => setBusy(key, false), BUSY_MS));
  else busy.delete(key);
  const [messageId] = key.split("|", 1);
  const data = key.slice(messageId.length + 1);
  for (const button of log.querySelectorAll(`[data-message-id="${messageId}"] button[data-callback-data]`)) {
    if (button.dataset.callbackData === data) markBusy(button, on);
  }
}

function showToast(text) {
  clearTimeout(toastTimer);
  toast.textContent = text;
  toast.hidden = false;
  toastTimer = setTimeout(() => { toast.hidden = true; }, TOAST_MS);
}

function showAlert(text) {
  byId("alert-title").textContent = state.bot.name;
  byId("alert-text").textContent = text;
  if (!byId("alert").open) byId("alert").showModal();
}

function flash(node, name) {
  node.classList.add(name);
  node.addEventListener("animationend", () => node.classList.remove(name), { once: true });
}

function atBottom() {
  return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_PX;
}

function toBottom(smoothly) {
  const behavior = smoothly && !matchMedia("(prefers-reduced-motion: reduce)").matches ? "smooth" : "instant";
  scroll.scrollTo({ top: scroll.scrollHeight, behavior });
}

// The menu: chats, people, and the look.

function showMenu(open) {
  const menu = byId("menu");
  menu.hidden = !open;
  byId("menu-button").setAttribute("aria-expanded", String(open));
  if (!open || !state) return;
  const entry = (text, current, action, count) => {
    const item = el("button", { type: "button", "aria-current": current && "true" }, el("span", {}, text));
    if (count) item.append(el("span", { class: "badge" }, String(count)));
    item.addEventListener("click", action);
    return item;
  };
  const parts = [];
  if (state.chats.length > 1) {
    parts.push(el("h2", {}, "Chats"));
    for (const chat of state.chats) {
      parts.push(entry(chat.title, chat.id === view.chat, () => choose({ chat: chat.id }), unread.get(chat.id)));
    }
  }
  if (state.users.length > 1) {
    parts.push(el("h2", {}, "Hold the phone of"));
    for (const user of state.users) {
      parts.push(entry(user.name, user.id === view.user, () => choose({ user: user.id, chat: null })));
    }
  }
  parts.push(el("h2", {}, "Look"));
  for (const theme of ["auto", "light", "dark"]) {
    const current = (document.documentElement.dataset.theme || "auto") === theme;
    parts.push(entry(theme[0].toUpperCase() + theme.slice(1), current, () => { setTheme(theme); showMenu(false); }));
  }
  menu.replaceChildren(...parts);
  menu.querySelector("button").focus();
}

function setTheme(theme) {
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

function showCommands(open) {
  byId("commands").hidden = !open;
  byId("commands-button").setAttribute("aria-expanded", String(open));
}

// Wiring.

function fit() {
  input.style.height = "auto";
  input.style.height = `${Math.min(input.scrollHeight, 140)}px`;
  composer.querySelector(".send").disabled = !input.value.trim();
}

composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = input.value;
  if (!text.trim()) return;
  input.value = "";
  fit();
  if (!(await send(text)) && !input.value) {
    input.value = text;
    fit();
  }
});
input.addEventListener("input", fit);
input.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
    event.preventDefault();
    composer.requestSubmit();
  }
});
byId("quote-cancel").addEventListener("click", () => setReply(null));
byId("newest").addEventListener("click", () => toBottom(true));
byId("commands-button").addEventListener("click", () => showCommands(byId("commands").hidden));
byId("menu-button").addEventListener("click", () => showMenu(byId("menu").hidden));
byId("start").addEventListener("click", async () => {
  const text = startPayload ? `/start ${startPayload}` : "/start";
  if (await send(text)) {
    startPayload = null;
    drawDock();
  }
});
scroll.addEventListener("scroll", () => {
  byId("newest").hidden = atBottom();
  if (atBottom() && unread.delete(view.chat)) drawUnread();
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("#menu, #menu-button")) showMenu(false);
  if (!event.target.closest("#commands, #commands-button")) showCommands(false);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  if (!byId("menu").hidden) byId("menu-button").focus();
  showMenu(false);
  showCommands(false);
  if (replyTo) setReply(null);
});
new ResizeObserver(() => { if (atBottom()) toBottom(false); }).observe(scroll);

function tick() {
  byId("wall-clock").textContent = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

setTheme(query.get("theme"));
tick();
setInterval(tick, 10_000);
connect();
