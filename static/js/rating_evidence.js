/* Evidence: words selected in the conversation, listed under the scale they support and marked in the text. The plain
   form's text field stays and carries the quotes, as JSON, unseen. */
AccordRating.evidence = (function () {
  "use strict";
  const { mode, scales, say, announce, element, evidenceText, quotes, saving, view } = AccordRating;
  const conversation = document.getElementById("conversation");
  const canMark = typeof Highlight === "function" && CSS.highlights;
  let selected = []; // quotes of the latest selection in the conversation
  let bar = null;
  let hideTimer = null;

  function read(scale) {
    return JSON.parse(scale.evidence.value || "[]");
  }

  const isSame = (a, b) => a.turn === b.turn && a.start === b.start && a.end === b.end && a.text === b.text;

  function write(scale, list) {
    scale.evidence.value = evidenceText(list);
    show(scale);
    saving.change(scale.pk);
  }

  function add(scale, found) {
    const list = read(scale);
    const fresh = found.filter((one) => !list.some((known) => isSame(known, one)));
    if (fresh.length) {
      write(scale, [...list, ...fresh]);
    }
    scale.tool("evidence").open = true;
    announce(say(fresh.length ? "quoteAdded" : "quoteKnown", { scale: scale.name }));
  }

  function remove(scale, one) {
    write(scale, read(scale).filter((known) => !isSame(known, one)));
    scale.tool("evidence").querySelector("summary").focus();
  }

  /* --- The list under a scale --- */

  function build(scale) {
    const field = scale.evidence;
    const typed = element("input", { type: "text", dir: "auto", placeholder: say("typeQuote") });
    typed.setAttribute("aria-label", `${say("typeQuote")}: ${scale.name}`);
    const plus = element("button", { type: "button", className: "button--small", textContent: say("add") });
    const use = element("button", { type: "button", className: "button--small", textContent: say("useSelection") });
    const problem = element("p", { className: "quote-problem", hidden: true });
    problem.setAttribute("role", "alert");
    const addTyped = () => {
      const found = quotes.ofWords(typed.value);
      tell(problem, typed.value.trim() && !found ? say("notFound") : "");
      if (found) {
        add(scale, [found]);
        typed.value = "";
      }
    };
    plus.addEventListener("click", addTyped);
    typed.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.isComposing && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        addTyped();
      }
    });
    use.addEventListener("pointerdown", (event) => event.preventDefault());
    use.addEventListener("click", () => tell(problem, useSelection(scale) ? "" : say("selectHint")));
    field.addEventListener("rating:shown", () => show(scale));
    field.after(
      element("ul", { className: "quotes" }),
      element("div", { className: "quote-line" }, use, typed, plus),
      problem,
    );
  }

  function tell(problem, words) {
    problem.textContent = words;
    problem.hidden = !words;
  }

  function show(scale) {
    const list = read(scale);
    scale.tool("evidence").querySelector("summary").textContent = list.length ? `${say("evidence")} (${list.length})` : say("evidence");
    scale.toolBody("evidence").querySelector(".quotes").replaceChildren(...list.map((one) => row(scale, one)));
    mark();
  }

  function row(scale, one) {
    const button = element("button", { type: "button", className: "button--quiet", textContent: say("remove") });
    button.setAttribute("aria-label", say("removeQuote", { quote: shortened(one.text) }));
    button.addEventListener("click", () => remove(scale, one));
    const speaker = quotes.speakerOf(one);
    const text = element("p", { className: "quotes__text", dir: "auto" }, one.text);
    if (speaker) {
      text.append(" ", element("span", { className: "quotes__speaker", textContent: speaker }));
    }
    text.addEventListener("click", () => quotes.rangeOf(one)?.startContainer.parentElement.scrollIntoView({ block: "center" }));
    return element("li", {}, text, ...(mode === "closed" ? [] : [button]));
  }

  const shortened = (text) => (text.length > 40 ? `${text.slice(0, 38).trimEnd()}…` : text);

  /* --- Marks in the conversation --- */

  function mark() {
    if (!canMark) {
      return;
    }
    const rangesOf = (which) => which.filter((scale) => scale.evidence).flatMap(read).map(quotes.rangeOf).filter(Boolean);
    const current = view.current();
    CSS.highlights.set("rating-evidence", new Highlight(...rangesOf(scales)));
    CSS.highlights.set("rating-evidence-current", new Highlight(...rangesOf(current ? [current] : [])));
  }

  /* --- The selection --- */

  function useSelection(scale) {
    // What is selected now, or was until the tap on the button.
    const now = quotes.ofSelection(document.getSelection());
    const found = now.length ? now : selected;
    if (found.length && scale.evidence && mode !== "closed") {
      add(scale, found);
      document.getSelection().removeAllRanges();
      offer([]);
      return true;
    }
    return false;
  }

  function offer(found) {
    clearTimeout(hideTimer);
    const scale = view.current();
    if (found.length && scale?.evidence) {
      selected = found;
      const quote = shortened(found.map((one) => one.text).join(" … ").replace(/\s+/g, " "));
      bar.firstChild.textContent = say("use", { quote, scale: scale.name });
      bar.hidden = false;
    } else {
      // A tap on the button may first end the selection.
      hideTimer = setTimeout(() => {
        selected = [];
        bar.hidden = true;
      }, found.length ? 0 : 250);
    }
  }

  /* The key e: the selected words, or else the place to give some. */
  function fromKey() {
    const scale = view.current();
    if (!scale?.evidence || useSelection(scale)) {
      return;
    }
    scale.tool("evidence").open = true;
    scale.toolBody("evidence").querySelector("input").focus();
  }

  function start() {
    const withEvidence = scales.filter((scale) => scale.evidence);
    if (!withEvidence.length) {
      return;
    }
    withEvidence.forEach(build);
    const button = element("button", { type: "button", className: "button--small" });
    bar = element("div", { className: "use-selection", hidden: true }, button);
    conversation.append(bar);
    button.addEventListener("pointerdown", (event) => event.preventDefault());
    button.addEventListener("click", () => useSelection(view.current()));
    document.addEventListener("selectionchange", () => {
      // Typing in a field is a selection too.
      offer(document.activeElement?.matches("textarea, input[type=text]") ? [] : quotes.ofSelection(document.getSelection()));
    });
    view.onCurrent(() => {
      mark();
      if (!bar.hidden) {
        offer(selected);
      }
    });
  }

  function showAll() {
    scales.filter((scale) => scale.evidence).forEach(show);
  }

  return { start, showAll, fromKey };
})();
