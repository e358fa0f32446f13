/* The keys of the rating screen. Digits choose a point by its value and go on; letters do the rest. Nothing happens while
   a text is written, a list or dialog is open, an input method composes, or with Ctrl, Alt or Meta held. */
AccordRating.keys = (function () {
  "use strict";
  const { say, announce, view } = AccordRating;
  const LONGER_NUMBER = 700; // ms in which a further digit still belongs to the number
  const SWITCH = "accord-rating-keys";
  const dialog = document.getElementById("keys");
  const checkbox = document.getElementById("keys-on");
  let typed = "";
  let timer = null;
  let cameFrom = null; // what had the focus when a key opened the reasons for skipping

  /* --- Numbers --- */

  const longerThan = (text) => view.current().points.filter((value) => value.startsWith(text) && value !== text);

  function endNumber() {
    clearTimeout(timer);
    const number = typed;
    typed = "";
    view.current()?.card.querySelectorAll(".point--pending").forEach((point) => point.classList.remove("point--pending"));
    return number;
  }

  /* Chooses what was typed so far, if it is a point. */
  function settleNumber() {
    const number = endNumber();
    if (number && view.choose(number)) {
      view.goOn();
    }
  }

  function typeDigit(character) {
    if (typed && !view.current().points.some((value) => value.startsWith(typed + character))) {
      settleNumber(); // the character begins the next number
    }
    typed += character;
    const { points, radios } = view.current();
    if (!points.includes(typed) && !longerThan(typed).length) {
      endNumber();
      return view.showPoints();
    }
    if (!longerThan(typed).length) {
      return settleNumber();
    }
    radios.find((radio) => radio.value === typed)?.parentElement.classList.add("point--pending");
    clearTimeout(timer);
    timer = setTimeout(settleNumber, LONGER_NUMBER);
    return undefined;
  }

  /* The part of a number that the key stands for, or "". The top row counts by its place too: on French keyboards its
     digits need Shift, and others write digits of their own. */
  function digitOf(event) {
    if (/^[0-9]$/.test(event.key)) {
      return event.key;
    }
    const byPlace = !event.shiftKey && /^Digit([0-9])$/.exec(event.code);
    if (byPlace) {
      return byPlace[1];
    }
    const sign = { "-": "-", "\u2212": "-", ".": ".", ",": "." }[event.key];
    return sign && longerThan(typed + sign).length ? sign : "";
  }

  /* The Latin letter of the key, by its place on keyboards of other scripts. */
  function letterOf(event) {
    if (/^[a-z]$/i.test(event.key)) {
      return event.shiftKey ? "" : event.key.toLowerCase();
    }
    const byPlace = /^Key([A-Z])$/.exec(event.code);
    return byPlace && !event.shiftKey && event.key.length === 1 ? byPlace[1].toLowerCase() : "";
  }

  /* --- Acts --- */

  function openTool(name, selector) {
    const scale = view.current();
    if (scale.tool(name)) {
      scale.tool(name).open = true;
      scale.toolBody(name).querySelector(selector).focus();
      scale.toolBody(name).scrollIntoView({ block: "nearest" });
    }
  }

  function toggleGuideline() {
    const tool = view.current().tool("guideline");
    tool.open = !tool.open;
    view.current().card.scrollIntoView({ block: "nearest" });
  }

  function cannotTell() {
    if (view.choose("cannot-tell")) {
      view.goOn();
    } else {
      announce(say("announceNoCannotTell"));
    }
  }

  /* Half a pane of the conversation further, wherever the focus is. */
  function read(by) {
    const pane = document.getElementById("conversation");
    const scroller = pane.scrollHeight > pane.clientHeight ? pane : document.scrollingElement;
    const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    scroller.scrollBy({ top: (by * scroller.clientHeight) / 2, behavior: isCalm ? "instant" : "smooth" });
  }

  function openSkip() {
    const skip = document.getElementById("skip");
    if (skip) {
      cameFrom = document.activeElement;
      skip.open = true;
      skip.querySelector("input").focus();
    }
  }

  const once = {
    c: () => openTool("comment", "textarea"),
    e: () => AccordRating.evidence.fromKey(),
    f: () => document.getElementById("flag")?.click(),
    i: toggleGuideline,
    r: view.reviewMissing,
    s: openSkip,
    x: cannotTell,
  };
  const repeating = {
    d: () => read(1),
    u: () => read(-1),
    j: () => view.step(1),
    n: () => view.step(1),
    k: () => view.step(-1),
    p: () => view.step(-1),
  };

  /* Closes what is open, nearest first; true where there was something. */
  function close(target) {
    const popup = document.querySelector("details.popup[open]");
    if (popup) {
      popup.open = false;
      (cameFrom?.matches("input, textarea, button, summary") ? cameFrom : popup.querySelector("summary")).focus();
      cameFrom = null;
    } else if (target.matches("textarea, input[type=text]") && target.closest("[data-scale]")) {
      view.goTo(view.current());
    } else if (view.current()?.tool("guideline").open) {
      view.current().tool("guideline").open = false;
    }
  }

  const isWriting = (target) =>
    target.closest('textarea, select, [contenteditable], input:not([type="radio"]):not([type="checkbox"]), .popup[open]');

  function onKey(event) {
    const { target } = event;
    if (event.defaultPrevented || event.isComposing || event.keyCode === 229 || dialog.open) {
      return;
    }
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.altKey && !target.closest(".popup[open]")) {
      event.preventDefault();
      if (!event.repeat) {
        settleNumber();
        AccordRating.perform("submit");
      }
      return;
    }
    if (event.ctrlKey || event.altKey || event.metaKey || event.getModifierState("AltGraph")) {
      return;
    }
    if (event.key === "Escape") {
      endNumber();
      close(target);
    } else if (event.key === "Enter" && target.matches('input[type="radio"], input[type="checkbox"]')) {
      event.preventDefault(); // in a form it would press the first button
    } else if (!isWriting(target)) {
      onFreeKey(event);
    }
  }

  function onFreeKey(event) {
    view.settleTap();
    if (event.key === "?") {
      event.preventDefault();
      show();
      return;
    }
    if (!checkbox.checked || !view.current()) {
      return;
    }
    const digit = digitOf(event);
    const letter = letterOf(event);
    const act = (!event.repeat && once[letter]) || repeating[letter];
    if (digit) {
      event.preventDefault();
      if (!event.repeat) {
        typeDigit(digit);
      }
    } else if (act) {
      event.preventDefault();
      settleNumber();
      act();
    } else if (typed && event.key.length > 1 && event.key !== "Shift") {
      settleNumber();
    }
  }

  function show() {
    dialog.showModal();
  }

  function start() {
    document.addEventListener("keydown", onKey);
    document.addEventListener("pointerdown", settleNumber);
    const cancel = document.getElementById("skip-cancel");
    if (cancel) {
      cancel.hidden = false;
      cancel.addEventListener("click", () => close(cancel));
    }
    const button = document.getElementById("show-keys");
    button.hidden = false;
    button.addEventListener("click", show);
    document.getElementById("close-keys").addEventListener("click", () => dialog.close());
    checkbox.addEventListener("change", () => {
      try {
        localStorage.setItem(SWITCH, checkbox.checked ? "on" : "off");
      } catch (error) {
        // The choice then holds for this page only.
      }
    });
    try {
      checkbox.checked = localStorage.getItem(SWITCH) !== "off";
    } catch (error) {
      // storage may be forbidden
    }
  }

  return { start, settleNumber };
})();
