/* What a scale itself says while its answer is not saved: refused, changed elsewhere, or a text without an answer. */
(function () {
  "use strict";
  const { scales, saving, say, element, answerOf, answerInWords, view } = AccordRating;
  const shown = new Map(); // pk -> what its note is about

  function note(scale, kind, ...parts) {
    if (shown.get(scale.pk) === kind) {
      return;
    }
    scale.card.querySelectorAll(".scale-card__note, .scale-card__error").forEach((old) => old.remove());
    shown.set(scale.pk, kind);
    if (!kind) {
      return;
    }
    const box = element("div", { className: "scale-card__note" }, ...parts);
    box.setAttribute("role", kind === "draft" ? "status" : "alert");
    scale.card.append(box);
  }

  function conflictParts(scale, { standing }) {
    const mine = answerInWords(answerOf(scale).value);
    const theirs = answerInWords(saving.standingAnswer(standing).value);
    const button = (words, keepMine) => {
      const made = element("button", { type: "button", className: "button--small", textContent: words });
      made.addEventListener("click", () => {
        saving.settleConflict(scale.pk, keepMine);
        view.showProgress();
        view.goTo(scale);
      });
      return made;
    };
    return [
      element("p", { textContent: say("conflict", { answer: theirs }) }),
      element("div", { className: "actions" },
        button(say("keepMine", { answer: mine }), true), button(say("takeTheirs", { answer: theirs }), false)),
    ];
  }

  function show() {
    scales.forEach((scale) => {
      const { stopped, draft } = saving.track(scale.pk);
      scale.card.toggleAttribute("data-unsaved", Boolean(stopped));
      if (stopped?.why === "conflict") {
        // Its words hold the newest answer on both sides.
        const kind = `conflict ${scale.value()} ${stopped.standing.based_on}`;
        note(scale, kind, ...(shown.get(scale.pk) === kind ? [] : conflictParts(scale, stopped)));
      } else if (stopped) {
        note(scale, `refused ${stopped.message}`, element("p", { textContent: stopped.message || say("unsaved") }));
      } else if (draft) {
        note(scale, "draft", say("draftNote"));
      } else if (shown.has(scale.pk)) {
        note(scale, "");
      }
    });
  }

  saving.onChange(show);
})();
