"""Following a run from the command line until it stands still, and working on it where nobody else does."""

import time
from collections.abc import Callable

from apps.common.services.heartbeats import is_worker_alive
from apps.llm.models import Pause, Run, RunState
from apps.llm.run_words import PAUSES
from apps.llm.services.progress import RunProgress, progress_of
from apps.llm.services.sweeping import sweep
from apps.llm.services.working import work

LOOK_SECONDS = 2.0
TELL_SECONDS = 6.0
# Worked on from here, so long at a time: in between it is told how far the run is.
STRETCH_SECONDS = 8.0

Tell = Callable[[str], None]


class RunFollower:
    """Tells how far a run is, every few seconds, until it is done, paused or cancelled.

    While no worker is alive, this process asks in its place; one that comes later simply takes part.
    """

    def __init__(self, run: Run, tell: Tell) -> None:
        self._run = run
        self._tell = tell
        self._told_at = 0.0
        self._told = ""
        self.works_here = False

    def follow(self) -> RunProgress:
        """How it stands in the end; `run` is as it is then."""
        while True:
            self._run.refresh_from_db(fields=["state", "pause", "pause_detail", "finished_at"])
            progress = progress_of(self._run)
            if self._run.state != RunState.RUNNING:
                return progress
            self._tell_now_and_then(progress)
            self._wait_or_work()

    def _wait_or_work(self) -> None:
        if is_worker_alive():
            time.sleep(LOOK_SECONDS)
            return
        if not self.works_here:
            self.works_here = True
            self._tell("No worker was seen for 30 seconds, so this process asks the model itself.")
        sweep()
        if not work(self._run.endpoint_id, seconds=STRETCH_SECONDS):
            # Nothing can be taken up now: what is left waits for a limit, or is in another's hands.
            time.sleep(LOOK_SECONDS)

    def _tell_now_and_then(self, progress: RunProgress) -> None:
        now = time.monotonic()
        line = counts_of(progress)
        if now - self._told_at >= TELL_SECONDS and line != self._told:
            self._told_at, self._told = now, line
            self._tell(line)


def counts_of(progress: RunProgress) -> str:
    """How far it is, in a line."""
    parts = [
        f"{progress.n_final:,} of {progress.n_calls:,} calls",
        f"{progress.n_done:,} valid",
        f"{progress.n_invalid:,} invalid",
        f"{progress.n_failed:,} failed",
        f"{progress.n_running:,} in hand",
    ]
    if progress.n_held:
        parts[-1] += f" (at most {progress.most_at_once:,} sent at a time)"
    if progress.minutes_left is not None and progress.n_open:
        parts.append(f"about {progress.minutes_left:,} min left")
    return ", ".join(parts)


def outcome_of(run: Run, progress: RunProgress) -> str:
    """What came of it, in a line: calls by how they ended, ratings, cost."""
    if progress.n_cost_unknown and not progress.cost:
        cost = "cost not known"
    else:
        cost = f"cost {progress.cost:.4f} {run.endpoint.currency}"
        if progress.n_cost_unknown:
            cost += " and more that is not known"
    return (
        f"{progress.n_done:,} valid, {progress.n_invalid:,} invalid, {progress.n_failed:,} failed, "
        f"{progress.n_ratings:,} ratings of this rater, {cost}"
    )


def why_it_stopped(run: Run) -> str:
    """Of a paused run: why, what the provider said, and what helps. For who runs the site: it names the variable."""
    words = PAUSES.get(run.pause)
    said = [str(words.what)] if words else []
    if run.pause_detail:
        said.append(run.pause_detail)
    if run.pause == Pause.KEY and run.endpoint.key_variable:
        said.append(f"The workers read the key from the environment variable {run.endpoint.key_variable}.")
    if words:
        said.append(str(words.advice))
    return " ".join(said)
