/* The rating screen as its scripts see it: the form, its words, and the answer that stands on each scale.
   The modules share `window.AccordRating`; each is loaded with `defer`, in the order of templates/annotation/item.html. */
window.AccordRating = (function () {
  "use strict";
  const form = document.getElementById("rating");
  const words = document.getElementById("rating-words").dataset;
  const announcer = document.getElementById("announcer");
  const notices = document.getElementById("notices");
  const mode = form.dataset.mode; // "rate", "closed" or "preview"

  function say(name, values) {
    return (words[name] || "").replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
  }

  // A status region speaks only where its text changes: the same words twice would be silent.
  function announce(text) {
    announcer.textContent = announcer.textContent === text ? text + "\u00a0" : text;
  }

  function element(tag, properties, ...children) {
    const made = Object.assign(document.createElement(tag), properties);
    made.append(...children);
    return made;
  }

  /* One scale on the page. `pk` is the dimension's. */
  function readScale(card) {
    const pk = card.dataset.scale;
    const radios = [...card.querySelectorAll('input[type="radio"]')];
    return {
      pk,
      card,
      radios,
      label: card.querySelector(".scale-card__label").textContent,
      name: card.querySelector("[data-scale-name]").textContent,
      refusal: card.querySelector(".scale-card__error")?.textContent || "",
      points: radios.map((radio) => radio.value).filter((value) => value !== "cannot-tell"),
      comment: card.querySelector(`[name="comment-${pk}"]`),
      evidence: card.querySelector(`[name="evidence-${pk}"]`),
      basedOn: card.querySelector(`[name="based-on-${pk}"]`),
      tool: (name) => card.querySelector(`[data-tool="${name}"]`),
      toolBody: (name) => card.querySelector(`[data-tool-body="${name}"]`),
      value: () => radios.find((radio) => radio.checked)?.value || "",
      select: (value) => radios.forEach((radio) => (radio.checked = radio.value === value)),
    };
  }

  /* Evidence as it is sent: a list of { turn, start, end, text }, always written alike. */
  function evidenceText(list) {
    return JSON.stringify(list.map(({ turn = null, start = null, end = null, text }) => ({ turn, start, end, text })));
  }

  // Without scripts the field holds one passage on a line.
  form.querySelectorAll('[name^="evidence-"]').forEach((field) => {
    field.hidden = true;
    field.value = evidenceText(JSON.parse(field.dataset.quotes || "[]"));
  });

  const scales = [...form.querySelectorAll("[data-scale]")].map(readScale);
  const byPk = new Map(scales.map((scale) => [scale.pk, scale]));

  /* What the scale says now: { value, comment, evidence }, each as it is sent. */
  function answerOf(scale) {
    return {
      value: scale.value(),
      comment: scale.comment ? scale.comment.value : "",
      evidence: scale.evidence ? scale.evidence.value : "",
    };
  }

  function showAnswer(scale, answer) {
    scale.select(answer.value);
    if (scale.comment) {
      scale.comment.value = answer.comment;
    }
    if (scale.evidence) {
      scale.evidence.value = answer.evidence;
      scale.evidence.dispatchEvent(new Event("rating:shown"));
    }
  }

  function answerInWords(value) {
    return value === "" ? say("noAnswer") : value === "cannot-tell" ? say("cannotTell") : value;
  }

  /* A notice above both panes; one of each kind, the newest. `parts` are texts and elements. */
  function notice(kind, parts, level) {
    dropNotice(kind);
    const box = element("div", { className: `message message--${level || "warning"}` }, ...parts);
    box.dataset.kind = kind;
    box.setAttribute("role", "alert");
    notices.append(box);
    return box;
  }

  function dropNotice(kind) {
    notices.querySelectorAll(`[data-kind="${kind}"]`).forEach((box) => box.remove());
  }

  // The cookie, not the page's own copy: signing in anew in another tab changes it.
  function csrfToken() {
    const cookie = document.cookie.split("; ").find((part) => part.startsWith("csrftoken="));
    return cookie ? cookie.slice("csrftoken=".length) : form.elements.csrfmiddlewaretoken.value;
  }

  return {
    form, mode, scales, byPk, say, announce, element, answerOf, showAnswer, answerInWords, evidenceText, notice,
    dropNotice, csrfToken,
  };
})();
