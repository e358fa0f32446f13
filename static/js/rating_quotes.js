/* From a selection to quotes: one for each turn it touches, with half-open offsets in Unicode code points of the turn's
   text. JavaScript counts UTF-16 units, of which an emoji has two or more. */
AccordRating.quotes = (function () {
  "use strict";
  const texts = [...document.querySelectorAll("#conversation .turn__text")];
  const graphemes = window.Intl && Intl.Segmenter ? new Intl.Segmenter(undefined, { granularity: "grapheme" }) : null;

  const codePoints = (text) => [...text].length;
  const unitsOf = (text, offset) => [...text].slice(0, offset).join("").length;

  /* The units [start, end) widened to whole characters as a reader sees them, and without white space at the ends. */
  function tidy(text, start, end) {
    if (graphemes) {
      start = graphemes.segment(text).containing(start)?.index ?? start;
      const last = end > start ? graphemes.segment(text).containing(end - 1) : undefined;
      end = last ? last.index + last.segment.length : end;
    }
    const chosen = text.slice(start, end);
    return [start + chosen.length - chosen.trimStart().length, end - (chosen.length - chosen.trimEnd().length)];
  }

  function quote(element, start, end) {
    const text = element.textContent;
    const [from, to] = tidy(text, start, end);
    if (from >= to) {
      return null;
    }
    return {
      turn: Number(element.dataset.turn),
      start: codePoints(text.slice(0, from)),
      end: codePoints(text.slice(0, to)),
      text: text.slice(from, to),
    };
  }

  /* How many units of the element's text stand before a boundary of the range. */
  function unitsBefore(element, container, offset) {
    const before = document.createRange();
    before.selectNodeContents(element);
    before.setEnd(container, offset);
    return before.toString().length;
  }

  function ofSelection(selection) {
    if (!selection || selection.isCollapsed) {
      return [];
    }
    const found = [];
    for (let index = 0; index < selection.rangeCount; index += 1) {
      const range = selection.getRangeAt(index);
      texts.filter((element) => range.intersectsNode(element)).forEach((element) => {
        const start = element.contains(range.startContainer)
          ? unitsBefore(element, range.startContainer, range.startOffset) : 0;
        const end = element.contains(range.endContainer)
          ? unitsBefore(element, range.endContainer, range.endOffset) : element.textContent.length;
        found.push(quote(element, start, end));
      });
    }
    return found.filter(Boolean);
  }

  /* The first place of words that were typed, in the order of the turns; null where they do not stand there. */
  function ofWords(words) {
    const wanted = words.trim();
    const element = wanted ? texts.find((one) => one.textContent.includes(wanted)) : undefined;
    const start = element ? element.textContent.indexOf(wanted) : 0;
    return element ? quote(element, start, start + wanted.length) : null;
  }

  /* The place of a quote on the page as a Range, or null. */
  function rangeOf({ turn, start, end }) {
    const element = turn === null ? undefined : texts.find((one) => Number(one.dataset.turn) === turn);
    const node = element?.firstChild;
    if (!node) {
      return null;
    }
    const range = document.createRange();
    range.setStart(node, Math.min(unitsOf(node.data, start), node.length));
    range.setEnd(node, Math.min(unitsOf(node.data, end), node.length));
    return range;
  }

  function speakerOf({ turn }) {
    const element = texts.find((one) => Number(one.dataset.turn) === turn);
    return element ? element.parentElement.querySelector(".turn__speaker").textContent : "";
  }

  return { ofSelection, ofWords, rangeOf, speakerOf };
})();
