/* The rating screen put together: what is saved is shown, and the acts of the form wait until everything is. */
(function () {
  "use strict";
  const { form, mode, scales, byPk, say, announce, element, notice, dropNotice, csrfToken, saving, view, evidence, keys } =
    AccordRating;
  const TYPING_PAUSE = 800; // ms
  const LISTED = 6; // scales named in a notice
  const stateBox = document.getElementById("save-state");
  const stateText = stateBox.querySelector("[data-save-text]");
  const retry = document.getElementById("retry");
  const LEVELS = { saved: "saved", saving: "saving", unsaved: "unsaved", offline: "unsaved" };
  let pending = null; // the act that waits until everything is saved
  let isLeaving = false;
  let told = "saved";
  let tellTimer = null;

  /* --- What is saved --- */

  function showState({ name, message, savedAt }) {
    if (mode !== "rate") {
      return;
    }
    stateBox.dataset.state = name === "saved" && !savedAt && !stateBox.dataset.first ? "quiet" : LEVELS[name] || "stopped";
    if (name !== "saved") {
      stateText.textContent = say(name);
    } else if (savedAt) {
      stateText.textContent = say("saved", { time: clock(savedAt) });
    } else if (stateBox.dataset.first) {
      stateText.textContent = stateBox.dataset.first;
    }
    retry.hidden = !["unsaved", "offline", "signedOut"].includes(name);
    showHalt(name, message);
    tell(name);
    goOnWithAct(name);
  }

  const clock = (date) => date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hour12: false });

  function showHalt(name, message) {
    if (name === "signedOut") {
      const link = element("a", { href: form.dataset.signIn, target: "_blank", rel: "noopener", textContent: say("signIn") });
      haltNotice([element("p", {}, say("signedOutNotice"), " ", link)]);
    } else if (["closed", "gone", "reload"].includes(name)) {
      haltNotice([element("p", { textContent: message || say(`${name}Notice`) })]);
    } else {
      dropNotice("halt");
    }
  }

  function haltNotice(parts) {
    if (!document.querySelector('[data-kind="halt"]')) {
      notice("halt", parts, "error");
    }
  }

  /* Screen readers hear of trouble at once and of success when it has settled, not at every key. */
  function tell(name) {
    clearTimeout(tellTimer);
    if (name === "saving" || name === told) {
      return;
    }
    tellTimer = setTimeout(() => {
      told = name;
      announce(name === "saved" ? say("announceSaved") : name === "unsaved" ? say("announceUnsaved") : say(name));
    }, name === "saved" ? 1200 : 0);
  }

  /* --- Acts --- */

  AccordRating.perform = function (act) {
    if (mode === "preview" || isLeaving) {
      return;
    }
    keys.settleNumber();
    saving.finishTyping();
    ["missing", "drafts", "waiting"].forEach(dropNotice);
    if (act === "save") {
      saving.retryNow();
    } else if (act === "flag") {
      flag();
    } else if (act === "submit" && view.unanswered().length) {
      showMissing();
    } else if (act === "skip" && !hasReason()) {
      showReasonMissing();
    } else if (saving.drafts().length) {
      showDrafts(act);
    } else {
      pending = act;
      goOnWithAct(saving.state().name);
    }
  };

  function goOnWithAct(name) {
    if (!pending) {
      return;
    }
    if (name === "saved" || mode === "closed") {
      leave(pending);
    } else if (name === "stopped") {
      pending = null;
      notice("waiting", [element("p", { textContent: say("stoppedNotice") })], "error");
    } else if (name === "unsaved" || name === "offline") {
      if (!document.querySelector('[data-kind="waiting"]')) {
        notice("waiting", [element("p", { textContent: say("unsavedNotice") })]);
      }
    } else if (name === "closed" || name === "gone") {
      // Nothing can be saved any more: all that is left is to go, and the browser asks about what is not.
      if (pending !== "submit") {
        window.location.assign(document.querySelector(".rating-bar__study").href);
      }
      pending = null;
    } else if (name !== "saving") {
      pending = null;
    }
  }

  /* Everything is saved: the form does the act, once. */
  function leave(act) {
    isLeaving = true;
    form.append(element("input", { type: "hidden", name: "action", value: act }));
    form.append(element("input", { type: "hidden", name: "timed", value: "1" })); // rating_clock.js reports the time
    form.elements.csrfmiddlewaretoken.value = csrfToken();
    document.querySelectorAll('button[form="rating"]').forEach((button) => (button.disabled = true));
    form.submit();
  }

  /* Links to the scales, a few of them. */
  function listOf(which) {
    const list = element("p", { className: "rating-notices__scales" });
    which.slice(0, LISTED).forEach((scale) => list.append(view.linkTo(scale).firstChild, " "));
    if (which.length > LISTED) {
      list.append(say("more", { count: which.length - LISTED }));
    }
    return list;
  }

  function showMissing() {
    const left = view.unanswered();
    notice("missing", [element("p", { textContent: say(left.length === 1 ? "missingOne" : "missingNotice") }), listOf(left)]);
    view.goTo(left[0]);
  }

  function showDrafts(act) {
    const go = element("button", { type: "button", className: "button--small", textContent: say("draftLeave") });
    go.addEventListener("click", () => {
      // They stay in this window's storage; the form must not carry them.
      saving.drafts().forEach((scale) => [scale.comment, scale.evidence].forEach((field) => field && (field.disabled = true)));
      pending = act;
      goOnWithAct(saving.state().name);
    });
    const words = say(saving.drafts().length === 1 ? "draftOne" : "draftNotice");
    notice("drafts", [element("p", { textContent: words }), listOf(saving.drafts()), element("div", { className: "actions" }, go)]);
  }

  function hasReason() {
    const chosen = form.elements.reason?.value;
    const words = form.elements["reason-words"]?.value.trim();
    return Boolean(words || (chosen && chosen !== "other"));
  }

  function showReasonMissing() {
    const skip = document.getElementById("skip");
    skip.open = true;
    document.getElementById("skip-error").hidden = false;
    skip.querySelector("input").focus();
  }

  async function flag() {
    const button = document.getElementById("flag");
    const wanted = button.getAttribute("aria-pressed") === "true" ? "0" : "1";
    button.disabled = true;
    try {
      const response = await fetch(form.dataset.flag, {
        method: "POST", body: new URLSearchParams({ flagged: wanted }), redirect: "manual", credentials: "same-origin",
        headers: { "X-CSRFToken": csrfToken(), Accept: "application/json" },
      });
      const { state, flagged } = await response.json();
      if (state !== "saved") {
        throw new Error(state);
      }
      dropNotice("flag");
      button.setAttribute("aria-pressed", String(flagged));
      announce(say(flagged ? "announceFlagged" : "announceUnflagged"));
    } catch (error) {
      notice("flag", [element("p", { textContent: say("flagFailed") })]);
    }
    button.disabled = false;
  }

  /* --- Texts --- */

  function watchTexts() {
    const timers = new Map();
    form.addEventListener("input", (event) => {
      const scale = byPk.get(event.target.closest("[data-scale]")?.dataset.scale);
      if (!scale || event.target !== scale.comment) {
        return;
      }
      saving.typing(scale.pk);
      clearTimeout(timers.get(scale.pk));
      timers.set(scale.pk, setTimeout(() => saving.change(scale.pk), TYPING_PAUSE));
    });
    form.addEventListener("focusout", (event) => {
      const scale = byPk.get(event.target.closest("[data-scale]")?.dataset.scale);
      if (scale && event.target === scale.comment) {
        clearTimeout(timers.get(scale.pk));
        saving.change(scale.pk);
      }
    });
  }

  /* --- Start --- */

  function start() {
    document.body.classList.add("rating-page--live");
    const first = stateBox.querySelector("time");
    if (first) {
      stateBox.dataset.first = say("saved", { time: clock(new Date(first.dateTime)) });
    }
    evidence.start();
    const isRestored = saving.restore();
    view.start();
    evidence.showAll();
    keys.start();
    watchTexts();
    saving.onChange(showState);
    retry.addEventListener("click", saving.retryNow);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      AccordRating.perform(event.submitter?.value || "save");
    });
    window.addEventListener("beforeunload", (event) => {
      saving.finishTyping();
      if (!isLeaving && mode === "rate" && saving.hasLoose()) {
        event.preventDefault();
      }
    });
    window.addEventListener("pageshow", (event) => event.persisted && window.location.reload());
    if (isRestored) {
      notice("restored", [element("p", { textContent: say("restored") })]);
    }
    scales.filter((scale) => !scale.value() && scale.comment?.value).forEach((scale) => saving.change(scale.pk));
    saving.notify();
  }

  start();
})();
