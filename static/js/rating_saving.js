/* Saving as one goes along. Every change of an answer is sent, in its order, one request at a time for each scale; what
   fails for want of a connection or of a server is tried again, later and later, until it is saved.
   A scale stops where the server says so: "conflict" (another window was first) or "refused". Everything halts where
   nothing can be saved any more: "closed", "gone", "signedOut", "reload". */
AccordRating.saving = (function () {
  "use strict";
  const { form, mode, scales, answerOf, evidenceText, csrfToken, store } = AccordRating;
  const FIRST_WAIT = 1000;
  const LONGEST_WAIT = 30000;
  const TIMEOUT = 20000;
  const UNKNOWN = { value: "" }; // whatever is said next is new

  const tracks = new Map(scales.map((scale) => [scale.pk, makeTrack(scale)]));
  const listeners = [];
  let halted = null; // { why, message }
  let failures = 0;
  let timer = null;
  let savedAt = null;

  /* `known` is the answer that was given or saved last: what the scale says is new where it differs. */
  function makeTrack(scale) {
    return {
      scale,
      basedOn: Number(scale.basedOn.value),
      // What the server refused is on the page but not saved: whatever is said next is new.
      known: scale.refusal ? UNKNOWN : answerOf(scale),
      queue: [],
      draft: null,
      typing: false,
      isSending: false,
      stopped: scale.refusal ? { why: "refused", message: scale.refusal } : null, // { why, message, standing }
    };
  }

  const isSame = (a, b) => a.value === b.value && a.comment === b.comment && a.evidence === b.evidence;

  function keep(track, draft) {
    store.write(track.scale.pk, { queue: track.queue, draft: draft || track.draft, basedOn: track.basedOn });
  }

  /* The scale says something else than before: a new answer is one more to be sent; a text alone joins the last one. */
  function change(pk) {
    const track = tracks.get(pk);
    const answer = answerOf(track.scale);
    track.typing = false;
    if (mode !== "rate" || halted?.why === "closed") {
      return notify();
    }
    if (!answer.value) {
      track.draft = answer.comment || hasQuotes(answer.evidence)
        ? { comment: answer.comment, evidence: answer.evidence } : null;
      keep(track);
      return notify();
    }
    track.draft = null;
    if (track.stopped?.why === "refused") {
      track.stopped = null;
      track.queue = [];
    }
    if (!isSame(answer, track.known)) {
      const last = track.queue.length - 1;
      const isWaiting = last > 0 || (last === 0 && !track.isSending);
      if (isWaiting && track.queue[last].value === answer.value) {
        Object.assign(track.queue[last], answer);
      } else {
        track.queue.push({ ...answer });
      }
      track.known = answer;
    }
    keep(track);
    send(track);
    return notify();
  }

  const hasQuotes = (evidence) => evidence.trim() !== "" && evidence.trim() !== "[]";

  /* A text is being written: kept at once, sent when the writer pauses. */
  function typing(pk) {
    const track = tracks.get(pk);
    if (mode !== "rate") {
      return;
    }
    const { comment, evidence } = answerOf(track.scale);
    track.typing = true;
    keep(track, { comment, evidence });
    notify();
  }

  function finishTyping() {
    tracks.forEach((track, pk) => track.typing && change(pk));
  }

  async function send(track) {
    if (track.isSending || track.stopped || halted || !track.queue.length || timer) {
      return;
    }
    track.isSending = true;
    const answer = track.queue[0];
    let outcome;
    try {
      outcome = await post(track, answer);
    } catch (error) {
      outcome = {};
    }
    track.isSending = false;
    settle(track, answer, outcome);
    notify();
    send(track);
  }

  async function post(track, answer) {
    const { pk } = track.scale;
    const body = new URLSearchParams({
      dimension: pk, [`value-${pk}`]: answer.value, [`based-on-${pk}`]: answer.basedOn ?? track.basedOn,
    });
    if (track.scale.comment) {
      body.set(`comment-${pk}`, answer.comment);
    }
    if (track.scale.evidence) {
      body.set(`evidence-${pk}`, answer.evidence);
    }
    const response = await fetch(form.dataset.save, {
      method: "POST", body, redirect: "manual", credentials: "same-origin", signal: AbortSignal.timeout(TIMEOUT),
      headers: { "X-CSRFToken": csrfToken(), Accept: "application/json" },
    });
    const isJson = (response.headers.get("Content-Type") || "").includes("json");
    return { status: response.status, isRedirect: response.type === "opaqueredirect", data: isJson ? await response.json() : null };
  }

  function settle(track, answer, { status, isRedirect, data }) {
    if (status === 200 && data?.state === "saved") {
      failures = 0;
      savedAt = new Date();
      track.basedOn = data.based_on;
      track.scale.basedOn.value = data.based_on;
      track.queue.shift();
      return keep(track);
    }
    if (status === 409 && data) {
      track.stopped = { why: "conflict", message: data.message, standing: data };
    } else if (status === 422 || status === 400) {
      track.stopped = { why: "refused", message: data?.message || "" };
      track.known = UNKNOWN;
    } else if (status === 401 || isRedirect || data?.state === "signed-out" || status === 200) {
      halted = { why: "signedOut" };
    } else if (status === 403) {
      halted = data ? { why: "closed", message: data.message } : { why: "reload" };
    } else if (status === 404 || status === 405) {
      halted = { why: "gone" };
    } else {
      waitAndRetry(); // no connection, an overloaded server, or something between that answers in its own way
    }
    return undefined;
  }

  function waitAndRetry() {
    if (timer) {
      return; // several scales failed at once: that is one failure
    }
    failures += 1;
    timer = setTimeout(retryNow, Math.min(LONGEST_WAIT, FIRST_WAIT * 2 ** (failures - 1)));
  }

  function retryNow() {
    clearTimeout(timer);
    timer = null;
    if (halted && halted.why !== "closed" && halted.why !== "gone") {
      halted = null;
    }
    tracks.forEach(send);
    notify();
  }

  /* The rater's answer to a conflict: theirs is written over what stands, or what stands is taken. */
  function settleConflict(pk, keepMine) {
    const track = tracks.get(pk);
    const { standing } = track.stopped;
    track.stopped = null;
    track.basedOn = standing.based_on;
    track.scale.basedOn.value = standing.based_on;
    track.queue = keepMine ? [{ ...answerOf(track.scale), basedOn: standing.based_on }] : [];
    if (!keepMine) {
      AccordRating.showAnswer(track.scale, standingAnswer(standing));
    }
    track.known = answerOf(track.scale);
    keep(track);
    send(track);
    notify();
  }

  function standingAnswer(standing) {
    return {
      value: standing.cannot_tell ? "cannot-tell" : standing.value ?? "",
      comment: standing.comment || "",
      evidence: evidenceText(standing.evidence || []),
    };
  }

  /* Puts back what an earlier visit of this window left unsaved; true where there was something. */
  function restore() {
    const left = mode === "rate" ? Object.entries(store.read()) : [];
    left.forEach(([pk, record]) => {
      const track = tracks.get(pk);
      if (!track) {
        return;
      }
      const queue = record.queue || [];
      const standing = track.known;
      // The first may have arrived although its answer did not. Otherwise it knew only what stood then.
      const hasArrived = queue.length > 0 && isSame(queue[0], standing);
      const rest = hasArrived ? queue.slice(1) : queue;
      if (rest.length && !hasArrived) {
        rest[0].basedOn = record.basedOn;
      }
      const latest = { ...standing, ...(rest[rest.length - 1] || {}), ...(record.draft || {}) };
      AccordRating.showAnswer(track.scale, latest);
      track.queue = rest;
      track.known = rest[rest.length - 1] || standing;
      change(pk);
    });
    return left.length > 0;
  }

  const all = (test) => [...tracks.values()].filter(test);
  const hasWork = (track) => track.queue.length > 0 || track.typing;

  function state() {
    const stopped = all((track) => track.stopped);
    const waiting = all(hasWork);
    if (halted) {
      return { name: halted.why, message: halted.message, savedAt };
    }
    if (stopped.length) {
      return { name: "stopped", savedAt };
    }
    if (waiting.length) {
      return { name: failures ? (navigator.onLine ? "unsaved" : "offline") : "saving", savedAt };
    }
    return { name: "saved", savedAt };
  }

  function notify() {
    listeners.forEach((listener) => listener(state()));
  }

  window.addEventListener("online", retryNow);

  return {
    change, typing, finishTyping, retryNow, settleConflict, standingAnswer, restore, state, notify,
    track: (pk) => tracks.get(pk),
    onChange: (listener) => listeners.push(listener),
    isSaved: () => !all(hasWork).length,
    drafts: () => all((track) => track.draft).map((track) => track.scale),
    hasLoose: () => all((track) => hasWork(track) || track.draft).length > 0,
  };
})();
