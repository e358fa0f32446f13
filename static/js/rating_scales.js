/* Which scale is the current one, choosing points, and everything that shows how far one is. */
AccordRating.view = (function () {
  "use strict";
  const { form, scales, byPk, say, announce, element, dropNotice, saving } = AccordRating;
  const region = document.getElementById("scales");
  const missing = document.getElementById("missing");
  const dots = document.getElementById("sheet-dots");
  const fold = document.getElementById("sheet-fold");
  const TAP_PAUSE = 300; // ms in which a tapped answer is seen before the sheet moves on
  const POINTS_SHOWN = 6000; // ms
  const listeners = [];
  let current = null;
  let pointed = null; // the scale that is being clicked
  let tapTimer = null;
  let pointsTimer = null;

  const unanswered = () => scales.filter((scale) => !scale.value());

  function setCurrent(scale) {
    if (scale === current) {
      return;
    }
    current?.card.classList.remove("scale-card--current");
    current?.card.removeAttribute("aria-current");
    current = scale;
    scale.card.classList.add("scale-card--current");
    scale.card.setAttribute("aria-current", "true");
    showPlace();
    listeners.forEach((listener) => listener(scale));
  }

  /* Makes the scale current, in view, with the focus on its answer (or its first point). */
  function goTo(scale) {
    setCurrent(scale);
    unfold();
    (scale.radios.find((radio) => radio.checked) || scale.radios[0]).focus({ preventScroll: true });
    scale.card.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const next = scales[scales.indexOf(current) + by];
    if (next) {
      goTo(next);
    }
  }

  /* The first scale without an answer after the current one, or else from the top. */
  function nextMissing(from = current) {
    const at = scales.indexOf(from);
    return [...scales.slice(at + 1), ...scales.slice(0, at + 1)].find((scale) => !scale.value());
  }

  function goOn() {
    const next = nextMissing();
    if (next) {
      goTo(next);
    } else {
      goTo(current);
      announce(say("announceAll"));
    }
  }

  /* After a click or tap on an answer. The keys then belong to the next scale without one, as after a digit; but the
     focus stays, and nothing scrolls under the pointer. A sheet shows one scale at a time, so it moves on. */
  function passOn(scale) {
    const next = nextMissing(scale);
    clearTimeout(tapTimer);
    tapTimer = null;
    if (!next) {
      setCurrent(scale);
      announce(say("announceAll"));
    } else if (isSheet()) {
      setCurrent(scale);
      tapTimer = setTimeout(settleTap, isCalm() ? 0 : TAP_PAUSE);
    } else {
      setCurrent(next);
    }
  }

  /* The pause after a tap is over. */
  function settleTap() {
    if (tapTimer !== null) {
      clearTimeout(tapTimer);
      tapTimer = null;
      goOn();
      document.getElementById("sheet-body").scrollTop = 0;
    }
  }

  const isSheet = () => document.getElementById("sheet-bar").offsetParent !== null;
  const isCalm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

  /* Says at the current scale which points it has, to somebody who typed another. */
  function showPoints() {
    const words = say("announceScale", { points: current.points.join(", ") });
    dropPoints();
    current.card.append(element("p", { className: "scale-card__points", textContent: words }));
    current.card.scrollIntoView({ block: "nearest" });
    pointsTimer = setTimeout(dropPoints, POINTS_SHOWN);
    announce(words);
  }

  function dropPoints() {
    clearTimeout(pointsTimer);
    form.querySelectorAll(".scale-card__points").forEach((note) => note.remove());
  }

  function reviewMissing() {
    const next = nextMissing();
    if (!next) {
      return announce(say("announceAll"));
    }
    goTo(next);
    return announce(say("announceMissing", { scale: next.name, count: unanswered().length }));
  }

  /* As if the point had been clicked. */
  function choose(value) {
    const radio = current.radios.find((one) => one.value === value);
    if (!radio || radio.matches(":disabled")) {
      return false;
    }
    if (!radio.checked) {
      radio.checked = true;
      radio.dispatchEvent(new Event("change", { bubbles: true }));
    }
    return true;
  }

  function showProgress() {
    const left = unanswered();
    form.querySelectorAll(".scale-group").forEach((group) => {
      const cards = [...group.querySelectorAll("[data-scale]")];
      const done = cards.filter((card) => byPk.get(card.dataset.scale).value()).length;
      group.querySelector("[data-n-done]").textContent = done;
      group.querySelector(".scale-group__count").classList.toggle("scale-group__count--full", done === cards.length);
    });
    document.getElementById("all-done").hidden = left.length > 0;
    if (!left.length) {
      dropNotice("missing");
    }
    if (missing) {
      missing.hidden = left.length === 0;
      missing.querySelectorAll("[data-missing]").forEach((figure) => (figure.textContent = left.length));
      missing.querySelector("ul").replaceChildren(...left.map(linkTo));
    }
    showPlace();
  }

  function linkTo(scale) {
    const link = element("a", { href: `#scale-${scale.pk}`, textContent: scale.label });
    link.lang = scale.card.querySelector("legend").lang;
    return element("li", {}, link);
  }

  function showPlace() {
    const at = scales.indexOf(current);
    const group = current?.card.closest(".scale-group").querySelector("h3").textContent;
    const place = say("place", { number: at + 1, total: scales.length });
    document.getElementById("sheet-place").textContent = `${place} · ${group}`;
    document.getElementById("sheet-previous").disabled = at <= 0;
    document.getElementById("sheet-next").disabled = at >= scales.length - 1;
    [...dots.children].forEach((dot, index) => {
      dot.classList.toggle("is-done", scales[index].value() !== "");
      dot.classList.toggle("is-current", index === at);
    });
  }

  function unfold() {
    setFolded(false);
  }

  function setFolded(isFolded) {
    region.classList.toggle("rating__scales--folded", isFolded);
    fold.setAttribute("aria-expanded", String(!isFolded));
    fold.textContent = say(isFolded ? "unfold" : "fold");
  }

  function start() {
    dots.replaceChildren(...scales.map(() => element("li", {})));
    document.getElementById("sheet-bar").hidden = false;
    form.addEventListener("change", (event) => {
      const card = event.target.closest("[data-scale]");
      if (card && event.target.type === "radio") {
        const scale = byPk.get(card.dataset.scale);
        if (scale !== pointed) {
          setCurrent(scale);
        }
        pointed = null;
        dropPoints();
        document.querySelectorAll("[data-told]").forEach((told) => told.remove());
        saving.change(card.dataset.scale);
        showProgress();
      }
    });
    form.addEventListener("click", (event) => {
      const scale = event.target.type === "radio" && byPk.get(event.target.closest("[data-scale]")?.dataset.scale);
      if (!scale) {
        return;
      }
      // Clicking once more on an answer that was refused tries it again: nothing changes then, so no change is told.
      if (saving.track(scale.pk).stopped?.why === "refused") {
        saving.change(scale.pk);
      }
      pointed = null;
      if (event.detail) { // arrow keys and the space bar click too, zero times
        pointed = scale;
        passOn(scale);
      }
    });
    // Whoever touches the scales again within the pause decides for themselves.
    region.addEventListener("pointerdown", () => {
      clearTimeout(tapTimer);
      tapTimer = null;
    });
    form.addEventListener("focusin", (event) => {
      const card = event.target.closest("[data-scale]");
      if (card) {
        setCurrent(byPk.get(card.dataset.scale));
      }
    });
    document.addEventListener("click", (event) => {
      const link = event.target.closest('a[href^="#scale-"]');
      const scale = link && byPk.get(link.hash.slice("#scale-".length));
      if (scale) {
        event.preventDefault();
        link.closest("details")?.removeAttribute("open");
        goTo(scale);
      }
    });
    document.getElementById("sheet-previous").addEventListener("click", () => moveSheet(-1));
    document.getElementById("sheet-next").addEventListener("click", () => moveSheet(1));
    fold.addEventListener("click", () => setFolded(fold.getAttribute("aria-expanded") === "true"));
    if (scales.length) {
      setCurrent(unanswered()[0] || scales[0]);
      if (current !== scales[0]) {
        current.card.scrollIntoView({ block: "nearest" }); // whoever begins reads the conversation first
      }
    }
    showProgress();
  }

  // The buttons keep the focus, so that a thumb or a screen reader can go on stepping; the new question is told.
  function moveSheet(by) {
    const next = scales[scales.indexOf(current) + by];
    if (next) {
      setCurrent(next);
      unfold();
      document.getElementById("sheet-body").scrollTop = 0;
      announce(next.card.querySelector("legend").textContent);
    }
  }

  return {
    start, goTo, goOn, step, choose, settleTap, showPoints, reviewMissing, unanswered, linkTo, showProgress, setCurrent,
    current: () => current,
    onCurrent: (listener) => listeners.push(listener),
  };
})();
