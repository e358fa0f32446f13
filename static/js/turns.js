/* Rows of a conversation's form: added, moved and taken away without a round trip. Without this script each button
   sends the form and the server does the same. The server reads the rows in the order in which they stand. */
(function () {
  "use strict";
  const form = document.querySelector(".conversation-form");
  if (!form) {
    return;
  }
  const turns = form.querySelector("[data-turns]");
  const said = form.querySelector("[data-said]");
  const undo = form.querySelector("[data-undo]");
  let made = 0;
  let removed = null;

  const rows = () => Array.from(turns.querySelectorAll(":scope > [data-key]"));

  function neighbour(row, step) {
    const all = rows();
    return all[all.indexOf(row) + step];
  }

  function blank(selector) {
    made += 1;
    const holder = document.createElement("template");
    holder.innerHTML = document.querySelector(selector).innerHTML.replaceAll("KEY", "n" + made);
    return holder.content.firstElementChild;
  }

  function say(text) {
    said.textContent = text;
  }

  function changed() {
    form.dispatchEvent(new Event("unsaved"));
  }

  function renumber() {
    const all = rows();
    all.forEach(function (row, index) {
      row.querySelectorAll("[data-number]").forEach((place) => (place.textContent = index + 1));
      row.querySelector("button[value^='up:']").disabled = index === 0;
      row.querySelector("button[value^='down:']").disabled = index === all.length - 1;
    });
  }

  function paint(row) {
    const role = row.querySelector("select").value;
    row.className = "turn-row turn-row--" + role;
  }

  function addTurn(after) {
    if (rows().length >= Number(turns.dataset.most)) {
      return false;
    }
    const row = blank("[data-blank-turn]");
    const before = after ? after.querySelector("select").value : "";
    row.querySelector("select").value = before === "seeker" ? "supporter" : "seeker";
    paint(row);
    if (after) {
      after.after(row);
    } else {
      turns.prepend(row);
    }
    renumber();
    changed();
    say(said.dataset.added);
    row.querySelector("textarea").focus();
    return true;
  }

  function moveTurn(row, up) {
    const other = neighbour(row, up ? -1 : 1);
    if (!other) {
      return;
    }
    if (up) {
      other.before(row);
    } else {
      other.after(row);
    }
    renumber();
    changed();
    say(said.dataset.moved + " " + (rows().indexOf(row) + 1) + ".");
    const same = row.querySelector(up ? "button[value^='up:']" : "button[value^='down:']");
    (same.disabled ? row.querySelector(up ? "button[value^='down:']" : "button[value^='up:']") : same).focus();
  }

  function removeTurn(row) {
    removed = row;
    row.before(undo);
    row.remove();
    renumber();
    changed();
    say(said.dataset.removed);
    undo.hidden = false;
    undo.querySelector("button").focus();
  }

  undo.querySelector("button").addEventListener("click", function () {
    undo.before(removed);
    undo.hidden = true;
    renumber();
    removed.querySelector("textarea").focus();
  });

  function addPair(kind) {
    const row = blank("[data-blank-pair='" + kind + "']");
    form.querySelector("[data-pairs='" + kind + "']").append(row);
    changed();
    row.querySelector("input[type='text']").focus();
  }

  function removePair(row) {
    const next = row.nextElementSibling || row.previousElementSibling;
    const list = row.parentElement;
    row.remove();
    changed();
    (next || list.parentElement).querySelector("button").focus();
  }

  form.addEventListener("click", function (event) {
    const button = event.target.closest("button[name='act']");
    if (!button || button.value.startsWith("save")) {
      return;
    }
    const act = button.value.split(":")[0];
    const row = button.closest("[data-key]");
    if (act === "add-turn" || act === "below") {
      if (!addTurn(row || rows().pop())) {
        return; // the server says why not
      }
    } else if (act === "up" || act === "down") {
      moveTurn(row, act === "up");
    } else if (act === "remove") {
      removeTurn(row);
    } else if (act.startsWith("add-")) {
      addPair(act.slice(4));
    } else {
      removePair(row);
    }
    event.preventDefault();
  });

  turns.addEventListener("change", function (event) {
    if (event.target.matches("select")) {
      paint(event.target.closest("[data-key]"));
    }
  });
})();
