// Keeps an open page up to date, and lets keys move through it. Everything works without it.
//
// What happens comes as events; the page then looks again at its own address and takes over what
// changed, in place. What is typed, focused, selected, open or scrolled stays. Rows that would push
// the reader aside wait behind a button.
(() => {
  "use strict";

  const LOOK_MS = 40;
  const AGAIN_MS = 1000;
  const TIMES_MS = 10000;
  const body = document.body;
  if (!body.dataset.seq) return;

  // The live state.

  const LIVE = { live: "Live", again: "Reconnecting", off: "Not live: reload to see changes" };
  let state = "again";
  const tell = (next) => {
    state = next;
    for (const place of document.querySelectorAll("[data-live]")) {
      place.dataset.state = state;
      if (place.textContent !== LIVE[state]) place.textContent = LIVE[state];
    }
  };

  // Taking over what changed.

  const keyOf = (node) =>
    node.nodeType === 1 ? node.id || node.dataset.key || null : null;
  // What a list has besides its rows: the field that adds one, the name of a phase.
  const fixedOf = (node) => (node.nodeType === 1 ? node.dataset.fixed || null : null);
  const isField = (node) => /^(INPUT|TEXTAREA|SELECT)$/.test(node.nodeName);
  const isTyped = (node) => {
    if (node.type === "hidden") return false;
    if (node.type === "checkbox" || node.type === "radio") return node.checked !== node.defaultChecked;
    if (node.nodeName === "SELECT") return [...node.options].some((one) => one.selected !== one.defaultSelected);
    return node.value !== node.defaultValue;
  };
  const isBusy = (node) => {
    if (node.contains(document.activeElement) && isField(document.activeElement)) return true;
    if ([...node.querySelectorAll("input, textarea, select")].some(isTyped)) return true;
    const selected = document.getSelection();
    return selected && !selected.isCollapsed && selected.containsNode(node, true);
  };

  let heldBack = 0;
  let isForced = false;

  const attributes = (old, next) => {
    for (const { name } of [...old.attributes]) {
      // The reader's own doing.
      if (name === "open" && old.nodeName === "DETAILS") continue;
      if (name === "class" && old.classList.contains("is-changed")) continue;
      // The first card is larger; one that is being filled in does not grow.
      if (name === "class" && old.matches(".gate") && isBusy(old)) continue;
      if (!next.hasAttribute(name)) old.removeAttribute(name);
    }
    for (const { name, value } of [...next.attributes]) {
      if (name === "open" && old.nodeName === "DETAILS" && isForced === false) continue;
      if (name === "class" && old.matches(".gate") && isBusy(old)) continue;
      if (name === "value" && isField(old) && old.type !== "hidden" && isTyped(old)) continue;
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
  };

  const mark = (node) => {
    node.classList.remove("is-changed");
    void node.offsetWidth;
    node.classList.add("is-changed");
  };

  // Makes `old` like `next`; true if anything a reader sees has changed.
  const morph = (old, next) => {
    if (old.nodeType === 3) {
      if (old.data === next.data) return false;
      old.data = next.data;
      return true;
    }
    if (old.nodeType !== 1 || old.isEqualNode(next)) return false;
    if (old.nodeName === "TEXTAREA") {
      if (isTyped(old) || old === document.activeElement) return false;
      old.defaultValue = next.defaultValue;
      attributes(old, next);
      return true;
    }
    if (old.hasAttribute("data-live") || isMine(old)) return false;
    if (old.hasAttribute("data-keep") && !isForced) return false;
    // A form that is being filled in is the reader's, with everything it carries.
    const hasFields = old.nodeName === "FORM" && old.querySelector("input:not([type=hidden]), textarea, select");
    if (hasFields && !("sent" in old.dataset) && (!isForced || isBusy(old))) return false;
    if (old.matches("article.gate") && !isForced && revision(old) !== revision(next)) {
      changed(old);
      return false;
    }
    attributes(old, next);
    return children(old, next);
  };

  // What a decision is about, as the reader sees it.
  const revision = (gate) => gate.querySelector('input[name="revision"]')?.value;
  const isMine = (node) => node.nodeType === 1 && "mine" in node.dataset;
  const isSeen = (node) => {
    const { top, bottom } = node.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };

  const children = (old, next) => {
    const isRows = old.hasAttribute("data-rows") && !isForced;
    const wantedKeys = new Set([...next.childNodes].map(keyOf).filter(Boolean));
    const byKey = new Map();
    const done = new Set();
    let changed = false;
    for (const child of [...old.childNodes]) {
      const key = keyOf(child);
      if (isMine(child) && !wantedKeys.has(key)) done.add(child);
      if (!key || done.has(child)) continue;
      if (wantedKeys.has(key)) {
        byKey.set(key, child);
      } else if (!isForced && (isBusy(child) || (isRows && isSeen(child)))) {
        done.add(child);
        if (child.matches(".gate")) gone(child);
        else heldBack += 1;
      } else {
        child.remove();
        changed = true;
      }
    }
    let at = old.firstChild;
    const pass = () => {
      while (at && done.has(at)) at = at.nextSibling;
    };
    const hasRowsAfter = () => {
      for (let one = at; one; one = one.nextSibling) if (keyOf(one) && !done.has(one)) return true;
      return false;
    };
    for (const wanted of [...next.childNodes]) {
      pass();
      const key = keyOf(wanted);
      let found = null;
      if (key) {
        found = byKey.get(key);
        if (found && found.nodeName !== wanted.nodeName) {
          found.replaceWith((found = document.importNode(wanted, true)));
          if (at && !at.isConnected) at = found;
          changed = true;
        }
      } else if (fixedOf(wanted)) {
        found = [...old.children].find((one) => fixedOf(one) === fixedOf(wanted) && !done.has(one)) || null;
      } else if (at && !keyOf(at) && !fixedOf(at) && at.nodeType === wanted.nodeType && at.nodeName === wanted.nodeName) {
        found = at;
      }
      if (!found) {
        // A new row above what is being read would push it away.
        if (isRows && key && hasRowsAfter()) {
          heldBack += 1;
          continue;
        }
        const fresh = document.importNode(wanted, true);
        old.insertBefore(fresh, at);
        done.add(fresh);
        if (isRows && key) mark(fresh);
        changed = true;
        continue;
      }
      let nextKeyed = at;
      while (key && nextKeyed && (!keyOf(nextKeyed) || done.has(nextKeyed))) nextKeyed = nextKeyed.nextSibling;
      done.add(found);
      if (found === at || found === nextKeyed || fixedOf(found)) {
        at = found.nextSibling;
      } else if (isRows) {
        heldBack += 1;
      } else {
        old.insertBefore(found, at);
        changed = true;
      }
      if (morph(found, wanted)) {
        changed = true;
        if (isRows && found.nodeType === 1) mark(found);
      }
    }
    for (const child of [...old.childNodes]) {
      if (done.has(child)) continue;
      child.remove();
      changed = true;
    }
    return changed;
  };

  const amber = (node, words) => {
    const notice = document.createElement("div");
    notice.className = "notice amber";
    notice.dataset.mine = "";
    notice.setAttribute("role", "status");
    notice.textContent = words;
    node.prepend(notice);
    return notice;
  };
  const isTold = (node) => node.querySelector(":scope > .notice[data-mine]");
  // Something that was decided elsewhere stays until the reader is done with it.
  const gone = (node) => {
    if (!isTold(node)) amber(node, "This is not waiting any more. Somebody else decided it, or it was withdrawn.");
  };
  // Something changed under a decision: what was read stays until the reader asks for the rest.
  const changed = (node) => {
    if (isTold(node)) return;
    const notice = amber(node, "This changed while you were reading. ");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = "Show what changed";
    button.addEventListener("click", () => {
      isForced = true;
      look();
    });
    notice.append(button);
  };

  // The button for what is held back.
  const offer = () => {
    let button = document.querySelector("[data-held-back]");
    if (!heldBack) {
      if (button) button.remove();
      return;
    }
    if (!button) {
      button = document.createElement("button");
      button.type = "button";
      button.className = "button held-back";
      button.dataset.heldBack = "";
      button.dataset.mine = "";
      button.addEventListener("click", () => {
        isForced = true;
        look();
      });
      const head = document.querySelector(".page-head");
      if (head) head.append(button);
    }
    const words = heldBack === 1 ? "1 change: show" : `${heldBack} changes: show`;
    if (button.textContent !== words) button.textContent = words;
  };

  const atEnd = () => {
    const end = document.querySelector("[data-end]");
    return end ? end.getBoundingClientRect().top < innerHeight : false;
  };

  // A chat that is read further up says that it goes on.
  const lastSaid = () => document.querySelector("#chat > :last-child")?.id;
  const announce = (end) => {
    if (document.querySelector(".new-messages")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button new-messages";
    button.textContent = "New messages";
    button.addEventListener("click", () => {
      end.scrollIntoView({ block: "end" });
      button.remove();
    });
    addEventListener("scroll", () => atEnd() && button.remove(), { passive: true });
    body.append(button);
  };

  // Sections of the rail are open from the middle width on, and folded on a phone.
  const isWide = matchMedia("(min-width: 720px)");
  const fit = (isTurn) => {
    for (const part of document.querySelectorAll("details.rail-part")) {
      if (isWide.matches || isTurn) part.open = isWide.matches;
      part.firstElementChild.tabIndex = isWide.matches ? -1 : 0;
    }
  };
  isWide.addEventListener("change", () => fit(true));

  const take = (text) => {
    const next = new DOMParser().parseFromString(text, "text/html");
    if (!next.body.dataset.seq) {
      location.reload();
      return false;
    }
    const follows = atEnd();
    const said = lastSaid();
    if (isForced) for (const told of document.querySelectorAll("[data-mine]")) told.remove();
    heldBack = 0;
    body.dataset.seq = next.body.dataset.seq;
    if (document.title !== next.title) document.title = next.title;
    for (const id of ["side", "topbar", "main", "bottom"]) {
      const [old, now] = [document.getElementById(id), next.getElementById(id)];
      if (old && now) morph(old, now);
    }
    // A notice stays until the reader does something else.
    if (isForced) for (const told of document.querySelectorAll("main .notice, main .fault")) told.dataset.mine = "";
    isForced = false;
    offer();
    fit(false);
    tell(state);
    times();
    const end = document.querySelector("[data-end]");
    if (end && follows) end.scrollIntoView({ block: "end" });
    if (end && !follows && said && lastSaid() !== said) announce(end);
    return true;
  };

  // The size of a change is read with git, so it comes after the page, one card at a time.
  const measured = new Set();
  const measure = async () => {
    const key = [...document.querySelectorAll("[data-size]")].map((one) => one.dataset.size).find((one) => !measured.has(one));
    if (!key || measured.size > 9) return;
    measured.add(key);
    const to = new URL(location.href);
    to.searchParams.set("size", key);
    try {
      await fetch(to, { headers: { "Punchlist-Live": "1" }, cache: "no-store" });
      await look();
    } catch {
      // The reader can still ask for it.
    }
    measure();
  };

  // Looking again: one look at a time, and one more if something came meanwhile.
  let isLooking = false;
  let isStale = false;
  // How often the reader moved on: a look that began before shows a page they have left.
  let moves = 0;
  const look = async () => {
    if (isLooking) {
      isStale = true;
      return;
    }
    isLooking = true;
    const began = moves;
    try {
      const answer = await fetch(location.href, { headers: { "Punchlist-Live": "1" }, cache: "no-store" });
      if (answer.redirected && new URL(answer.url).pathname === "/sign-in") {
        tell("off");
        return;
      }
      // A page in trouble is not taken over: what is typed would be gone.
      if (answer.status === 429 || answer.status > 499) throw new Error();
      const text = await answer.text();
      if (moves === began) take(text);
      else isStale = true;
      if (isFollowing) tell("live");
    } catch {
      tell("again");
      setTimeout(look, AGAIN_MS);
    } finally {
      isLooking = false;
      if (isStale) {
        isStale = false;
        soon();
      }
    }
  };
  let timer = 0;
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(look, LOOK_MS);
  };

  // Following what happens. Any event is a reason to look again.
  let after = body.dataset.seq;
  let isFollowing = false;
  const follow = async () => {
    const project = body.dataset.project;
    const only = project ? `&project=${encodeURIComponent(project)}` : "";
    let wait = AGAIN_MS;
    for (;;) {
      try {
        const answer = await fetch(`/v1/events?after=${after}${only}`, { cache: "no-store" });
        if (answer.status === 401 || answer.status === 403) {
          tell("off");
          return;
        }
        if (!answer.ok) throw new Error();
        tell("live");
        isFollowing = true;
        wait = AGAIN_MS;
        await listen(answer.body.getReader());
      } catch {
        // The server is away for a moment.
      }
      isFollowing = false;
      tell("again");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 15000);
    }
  };
  const listen = async (reader) => {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const messages = rest.split("\n\n");
      rest = messages.pop();
      for (const message of messages) {
        const id = /^id: (\d+)$/m.exec(message);
        if (id) after = id[1];
        if (id || /^event: reset_required$/m.test(message)) soon();
      }
    }
  };

  // What did not work, said where the reader acted. What is typed stays.
  const trouble = (form, button, words) => {
    const inside = !button || form.contains(button);
    // The forms of a row are part of it, and have no place of their own.
    const place = button?.closest("li.row") || (!inside && button.closest("li, footer, section")) || form;
    place.querySelector(":scope > .notice[data-mine]")?.remove();
    const notice = document.createElement("div");
    notice.className = "notice red";
    notice.dataset.mine = "";
    notice.tabIndex = -1;
    notice.setAttribute("role", "alert");
    notice.textContent = words;
    place.prepend(notice);
    notice.focus();
  };
  const BUSY = "The server has too much to do. Nothing was changed, and what you typed is still here. Try again in a moment.";
  const BROKEN = "The server could not do this. What you typed is still here. Try again in a moment.";
  const AWAY = "The server did not answer. What you typed is still here. Look whether it arrived before you send it again.";
  const AWAY_READ = "The server did not answer. Try again in a moment.";

  const isOurs = (text) => /<body[^>]* data-seq="/.test(text);
  // What is on its way; an attribute would be gone with the next look.
  const sending = new WeakSet();
  // The pages that the reader asked for are numbered: one that arrives after a newer one is dropped.
  let asked = 0;

  // Forms: sent without leaving the page, so that what is typed elsewhere stays.
  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if ("plain" in form.dataset || event.defaultPrevented) return;
    event.preventDefault();
    const button = event.submitter;
    const sent = button || form;
    if (sending.has(sent)) return;
    const fields = new URLSearchParams(new FormData(form));
    if (button && button.name) fields.append(button.name, button.value);
    const isGet = form.method === "get";
    const to = new URL(form.getAttribute("action") || location.href, location.href);
    if (isGet) to.search = fields.toString();
    const turn = isGet ? (asked += 1) : 0;
    const began = moves;
    sending.add(sent);
    if (button) button.setAttribute("aria-disabled", "true");
    try {
      let answer;
      let text;
      try {
        answer = await fetch(to.href, isGet ? { cache: "no-store" } : { method: "POST", body: fields, cache: "no-store", headers: { "Punchlist-Form": location.pathname } });
        text = await answer.text();
      } catch {
        if (!isGet || turn === asked) trouble(form, button, isGet ? AWAY_READ : AWAY);
        return;
      }
      if (isGet && turn !== asked) return;
      if (answer.status === 429 || answer.status > 499) {
        trouble(form, button, answer.status === 429 ? BUSY : BROKEN);
        return;
      }
      const url = new URL(answer.url);
      if (url.pathname !== location.pathname || !isOurs(text)) {
        if (answer.redirected || isGet) location.assign(answer.url + (isGet ? to.hash : ""));
        else {
          // A page of its own, with what was typed: the session may have ended.
          document.open();
          document.write(text);
          document.close();
        }
        return;
      }
      const hash = isGet ? to.hash : "";
      // What was sent is not typed any more.
      if (answer.ok && !isGet) form.reset();
      const focus = /<body[^>]* data-focus="([^"]*)"/.exec(text)?.[1];
      // A refused form stays open where it is.
      if (answer.ok) history.replaceState(null, "", url.pathname + url.search + hash);
      isForced = true;
      // Something else was sent meanwhile: this page may not have it yet.
      if (moves !== began) soon();
      moves += 1;
      form.dataset.sent = "";
      const taken = take(text);
      delete form.dataset.sent;
      const menu = button && button.closest("details.menu");
      if (menu) menu.open = false;
      if (taken) arrive(isGet ? hash : focus, !answer.ok);
    } finally {
      sending.delete(sent);
      if (button && button.isConnected) button.removeAttribute("aria-disabled");
    }
  });

  // A link that only unfolds something: the rest of the page stays.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.("a[data-open]");
    if (!link || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const turn = (asked += 1);
    try {
      const answer = await fetch(link.href, { cache: "no-store" });
      const text = await answer.text();
      if (turn !== asked) return;
      if (!answer.ok || !isOurs(text)) throw new Error();
      const { pathname, search, hash } = new URL(link.href);
      history.replaceState(null, "", pathname + search + hash);
      isForced = true;
      moves += 1;
      if (take(text)) arrive(hash, false);
    } catch {
      if (turn === asked) location.assign(link.href);
    }
  });

  // After an answer the focus goes on: to what was refused, or to where the server says.
  const arrive = (hash, wasRefused) => {
    const fault = wasRefused && document.querySelector('[aria-invalid="true"], .fault, .notice.red');
    const target = fault || (hash && document.getElementById(decodeURIComponent(hash.replace(/^#/, ""))));
    if (!target) return;
    const within = target.matches("form") ? target.querySelector("input:not([type=hidden]), textarea, select, button") : target;
    const focus = within || target;
    if (focus.tabIndex < 0 && !focus.hasAttribute("tabindex")) focus.tabIndex = -1;
    const fold = focus.closest("details:not([open])");
    if (fold && focus.closest("summary") === null) fold.open = true;
    focus.focus({ preventScroll: true });
    focus.scrollIntoView({ block: "nearest" });
  };

  // Times: relative words, kept fresh without changing what they say otherwise.
  const span = (s) => {
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min`;
    if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
    return `${Math.floor(s / 86400)} days`;
  };
  const times = () => {
    for (const time of document.querySelectorAll('time[data-time="ago"], time[data-time="for"]')) {
      const s = Math.max(0, Math.floor((Date.now() - Date.parse(time.dateTime)) / 1000));
      if (s >= 86400) continue;
      const words = time.dataset.time === "for" ? span(s) : s < 10 ? "just now" : `${span(s)} ago`;
      if (time.textContent !== words) time.textContent = words;
    }
  };

  // Keys. They are off in fields, and no key decides anything.
  const isOff = () => {
    try {
      return localStorage.getItem("punchlist-keys") === "off";
    } catch {
      return false;
    }
  };
  const setOff = (off) => {
    try {
      localStorage.setItem("punchlist-keys", off ? "off" : "on");
    } catch {
      // Then for this page alone.
    }
  };
  const items = () =>
    [...document.querySelectorAll("[data-item], .gate-title, .brief-title")].filter((one) => one.offsetParent);
  const step = (by) => {
    const all = items();
    if (!all.length) return;
    const here = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
    const next = all[Math.min(Math.max(here + by, 0), all.length - 1)];
    const target = next.matches("a, [tabindex], summary") ? next : next.querySelector("a, summary") || next;
    target.focus();
    target.scrollIntoView({ block: "nearest" });
  };
  const keys = document.getElementById("keys");
  const toggle = keys && keys.querySelector('[data-keys="toggle"]');
  const showKeys = (show) => {
    if (!keys) return;
    keys.hidden = !show;
    toggle.textContent = isOff() ? "Turn keys on" : "Turn keys off";
    if (show) keys.querySelector("h2").focus();
  };
  if (keys) {
    toggle.addEventListener("click", () => {
      setOff(!isOff());
      showKeys(true);
    });
    keys.querySelector('[data-keys="close"]').addEventListener("click", () => showKeys(false));
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const on = document.activeElement;
    if (event.key === "Escape") {
      if (keys && !keys.hidden) showKeys(false);
      else if (on && isField(on)) on.blur();
      for (const fold of document.querySelectorAll("details.switch[open], details.more[open], details.menu[open]")) fold.open = false;
      return;
    }
    if (on && (isField(on) || on.isContentEditable)) return;
    if (event.key === "?") {
      event.preventDefault();
      showKeys(keys && keys.hidden);
      return;
    }
    if (isOff()) return;
    const does = {
      j: () => step(1),
      k: () => step(-1),
      "/": () => document.querySelector("[data-find]")?.focus(),
      n: () => {
        const button = document.querySelector("[data-new] button");
        const project = body.dataset.project;
        if (button) button.click();
        else if (project) location.assign(`/p/${encodeURIComponent(project)}/issues?open=new-issue#new-issue`);
      },
      Enter: () => {
        if (!on?.matches("[data-item], .gate-title, .brief-title")) return false;
        const link = on.querySelector("a");
        const fold = on.closest("details.folded");
        if (link) link.click();
        else if (fold) fold.open = !fold.open;
        return Boolean(link || fold);
      },
    }[event.key];
    if (!does) return;
    if (does() !== false) event.preventDefault();
  });
  // A menu closes when the reader goes elsewhere.
  document.addEventListener("click", (event) => {
    for (const fold of document.querySelectorAll("details.switch[open], details.more[open], details.menu[open]")) {
      if (!fold.contains(event.target)) fold.open = false;
    }
  });

  fit(false);
  tell("again");
  follow();
  measure();
  times();
  setInterval(times, TIMES_MS);
  addEventListener("pageshow", (event) => {
    if (event.persisted) look();
  });
})();
