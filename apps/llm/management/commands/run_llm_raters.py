"""`python manage.py run_llm_raters --study SLUG --endpoint NAME`: a model rates conversations of a study."""

import math
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.urls import reverse

from apps.llm.models import OPEN_CALL_STATES, Endpoint, Pause, PromptVersion, Run, RunState
from apps.llm.run_following import RunFollower, outcome_of, why_it_stopped
from apps.llm.services.consent import ConsentError, leave_problem, needs_consent
from apps.llm.services.controls import RunError, start_run
from apps.llm.services.estimating import duration_in_words
from apps.llm.services.making_runs import Preview, RunOrder, make_run, preview_run
from apps.llm.services.model_raters import HOTTEST, LARGEST_SEED, MOST_SAMPLES, ModelRaterError
from apps.llm.services.planning import LeftOut, PlanError, RunPlan, RunSelection
from apps.llm.services.prompting import PromptingError, frameworks_of, versions_of
from apps.llm.tasks import trigger_endpoint
from apps.llm.templates import Use
from apps.studies.models import ItemRole, Study

REFUSALS = (PlanError, ModelRaterError, PromptingError, ConsentError, RunError)
INTERRUPTED = 130
# Option -> the least and the most that it may be; None: so many as ten digits hold.
WHOLE_NUMBERS = {
    "samples": (1, MOST_SAMPLES),
    "model_seed": (0, LARGEST_SEED),
    "items": (1, None),
    "seed": (0, None),
}


class Command(BaseCommand):
    help = (
        "Let a model rate conversations of a study: makes a run, starts it, and with --wait follows it to its end. "
        "What the model was asked before is not asked again."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--endpoint", required=True, metavar="NAME", help="as it is called on the page Endpoints")
        asked = parser.add_argument_group("what it is asked")
        asked.add_argument(
            "--prompt", default="", metavar="NAME[:VERSION]", help="default: the newest one, or Accord's own"
        )
        asked.add_argument(
            "--use", choices=[use.value for use in Use], help="without --prompt: one scale or a whole framework a call"
        )
        asked.add_argument("--samples", default="1", metavar="K", help="answers to each question")
        asked.add_argument("--temperature", metavar="T", help="0 to 2; default: not sent")
        asked.add_argument("--model-seed", metavar="N", help="sent to the model; default: not sent")
        asked.add_argument("--name", default="", help="of the rater, if it is new")
        about = parser.add_argument_group("about what")
        about.add_argument("--block", action="append", default=[], metavar="SLUG", help="default: every block")
        about.add_argument(
            "--framework", action="append", default=[], metavar="SLUG", help="default: all that the prompt asks about"
        )
        about.add_argument("--role", action="append", default=[], choices=ItemRole.values, help="default: main")
        about.add_argument("--items", metavar="N", help="so many, drawn by lot; default: all")
        about.add_argument("--seed", metavar="N", help="of the lot; default: the study's")
        about.add_argument("--with-examples", action="store_true", help="conversations shown as examples as well")
        parser.add_argument("--budget", metavar="AMOUNT", help="in the currency of the endpoint's prices")
        parser.add_argument(
            "--confirm-text-may-leave", action="store_true", help="the study's text may be sent to this endpoint"
        )
        parser.add_argument("--dry-run", action="store_true", help="say what it would take, and send and store nothing")
        parser.add_argument("--wait", action="store_true", help="follow the run until it is done or stands still")

    def handle(self, *args: Any, **options: Any) -> None:
        options |= _numbers(options)
        study = _study(options["study"])
        order = self._order(study, options)
        try:
            preview = preview_run(study=study, order=order, by=None)
            self._tell_plan(study, preview, order)
            if options["dry_run"]:
                self._tell_leave(study, order)
                self.stdout.write("Nothing was sent, and nothing stored (dry run).")
                return
            with transaction.atomic():
                run = make_run(study=study, order=order, by=None)
                start_run(run=run, by=None)
        except REFUSALS as refusal:
            raise CommandError(_with_advice(study, order, refusal)) from None
        trigger_endpoint(run.endpoint_id)
        self.stdout.write(f"Run {run.pk} has started.")
        if options["wait"]:
            self._wait(run)

    def _order(self, study: Study, options: dict[str, Any]) -> RunOrder:
        endpoint = _endpoint(options["endpoint"])
        if options["prompt"] and options["use"]:
            raise CommandError("Give --prompt or --use, not both: a prompt says itself what one call asks for.")
        version: PromptVersion | Use = _version(study, options["prompt"]) or Use(options["use"] or Use.SCALE)
        if not options["prompt"] and not options["use"]:
            version = versions_of(study).order_by("-created_at", "-pk").first() or version
        blocks = {block.slug: block.pk for block in study.blocks.all()}
        frameworks = {framework.slug: framework.pk for framework in frameworks_of(study)}
        seed = options["seed"]
        return RunOrder(
            endpoint=endpoint,
            version=version,
            temperature=options["temperature"],
            seed=options["model_seed"],
            samples=options["samples"],
            name=options["name"],
            selection=RunSelection(
                blocks=_chosen(options["block"], blocks, "block"),
                frameworks=_chosen(options["framework"], frameworks, "framework"),
                roles=tuple(options["role"]) or (ItemRole.MAIN.value,),
                sample_size=options["items"],
                seed=study.seed if seed is None else seed,
                with_examples=options["with_examples"],
            ),
            budget=options["budget"],
            confirms=options["confirm_text_may_leave"],
        )

    # --- What is said -----------------------------------------------------------------------------------------------

    def _tell_plan(self, study: Study, preview: Preview, order: RunOrder) -> None:
        kind = "new"
        if preview.is_known:
            kind = "asked before, and now about the rest" if preview.plan.n_calls else "asked before"
        self.stdout.write(f"Rater: {preview.name} ({kind}), prompt {preview.version}, endpoint {order.endpoint.name}.")
        if preview.plan.n_calls:
            self._tell_estimate(preview.plan, order)
        else:
            self.stdout.write("There is nothing to ask.")
        for reason, count in preview.plan.left_out_counts.items():
            self.stdout.write(f"Left out, {LeftOut(reason).label}: {count:,}")
        for line in _paused_lines(study, preview):
            self.stdout.write(line)

    def _tell_estimate(self, plan: RunPlan, order: RunOrder) -> None:
        estimate = plan.estimate
        if estimate.cost is None:
            cost = "cost unknown: the endpoint has no prices"
        else:
            cost = f"about {estimate.cost:.2f} {order.endpoint.currency}"
        self.stdout.write(
            f"{_counted(len(plan.items), 'conversation')}, {_counted(plan.n_calls, 'call')}, about "
            f"{estimate.input_tokens:,} tokens of prompts and {estimate.output_tokens:,} of answers, {cost}, about "
            f"{duration_in_words(estimate.seconds)}."
        )

    def _tell_leave(self, study: Study, order: RunOrder) -> None:
        problem = leave_problem(study=study, endpoint=order.endpoint)
        if problem and not (order.confirms and needs_consent(study=study, endpoint=order.endpoint)):
            self.stdout.write(problem)

    def _wait(self, run: Run) -> None:
        follower = RunFollower(run, self._tell)
        try:
            progress = follower.follow()
        except KeyboardInterrupt:
            self._tell(
                "Interrupted. The run is not: it goes on once a worker is there, and its page pauses or cancels it."
                if follower.works_here
                else "Interrupted. The run is not: the workers go on with it, and its page pauses or cancels it."
            )
            sys.exit(INTERRUPTED)
        outcome = outcome_of(run, progress)
        if run.state == RunState.PAUSED:
            raise CommandError(
                f"Run {run.pk} is paused. {why_it_stopped(run)} Its page: {_address_of(run)} So far: {outcome}."
            )
        if run.state != RunState.DONE:
            raise CommandError(f"Run {run.pk} was cancelled. {outcome}.")
        if progress.n_failed == progress.n_calls:
            raise CommandError(f"Run {run.pk} is done, and every call failed. {_last_problem(run)} {outcome}.")
        self.stdout.write(f"Run {run.pk} is done: {outcome}.")

    def _tell(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


# --- What is meant ----------------------------------------------------------------------------------------------------


def _study(slug: str) -> Study:
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study {slug}.{_known(Study.objects.values_list('slug', flat=True))}")
    return study


def _endpoint(name: str) -> Endpoint:
    endpoint = Endpoint.objects.filter(name=name).first()
    if endpoint is None:
        names = Endpoint.objects.in_use().values_list("name", flat=True)
        raise CommandError(f"There is no endpoint {name}.{_known(names)}")
    if endpoint.retired_at is not None:
        raise CommandError(f"The endpoint {name} is retired: choose another one.")
    return endpoint


def _version(study: Study, prompt: str) -> PromptVersion | None:
    """NAME or NAME:VERSION; a name may have a colon itself."""
    if not prompt:
        return None
    versions = versions_of(study).order_by("-number")
    found = versions.filter(prompt__name=prompt).first()
    name, colon, number = prompt.rpartition(":")
    if found is None and colon and number.isascii() and number.isdecimal() and len(number) < 10:
        found = versions.filter(prompt__name=name, number=int(number)).first()
    if found is None:
        known = [f"{version.prompt.name}:{version.number}" for version in versions_of(study).order_by("pk")]
        raise CommandError(f"The study {study.slug} has no prompt {prompt}.{_known(known)}")
    return found


def _chosen(slugs: Iterable[str], known: dict[str, int], noun: str) -> tuple[int, ...]:
    for slug in slugs:
        if slug not in known:
            raise CommandError(f"The study has no {noun} {slug}.{_known(known)}")
    return tuple(dict.fromkeys(known[slug] for slug in slugs))


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _known(names: Iterable[str]) -> str:
    shown = list(names)[:20]
    return f" Known: {', '.join(shown)}." if shown else " There is none yet."


def _numbers(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are numbers, as such; what is not given stays None. Raises CommandError for the first wrong one.

    They come as texts: what argparse refuses itself ends with its usage and status 2.
    """
    found: dict[str, Any] = {}
    for name, (least, most) in WHOLE_NUMBERS.items():
        found[name] = _read(options, name, partial(_whole, least=least, most=most))
    return found | {
        "temperature": _read(options, "temperature", _temperature),
        "budget": _read(options, "budget", _money),
    }


def _read(options: Mapping[str, Any], name: str, reader: Callable[[str], Any]) -> Any:
    given = options[name]  # a text, or a number where another program calls
    if given is None:
        return None
    try:
        return reader(str(given))
    except ValueError as problem:
        raise CommandError(f"--{name.replace('_', '-')} is {given}; expected {problem}.") from None


def _whole(text: str, *, least: int, most: int | None) -> int:
    is_number = text.isascii() and text.isdecimal() and len(text) < 11
    if not is_number or int(text) < least or (most is not None and int(text) > most):
        expected = f"of at least {least}" if most is None else f"from {least} to {most:,}"
        raise ValueError(f"a whole number {expected}")
    return int(text)


def _temperature(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number <= HOTTEST:
        raise ValueError(f"a number from 0 to {HOTTEST:g}")
    return number


def _money(text: str) -> Decimal:
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not (amount.is_finite() and 0 < amount < 10**10 and amount == round(amount, 2)):
        raise ValueError("an amount above 0 with at most two decimals, for example 2.50")
    return amount


def _with_advice(study: Study, order: RunOrder, refusal: Exception) -> str:
    """The sentence, and where only the confirmation is missing, how to give it."""
    said = str(refusal)
    needs = needs_consent(study=study, endpoint=order.endpoint)
    if needs and said == leave_problem(study=study, endpoint=order.endpoint):
        return f"{said} If it may, add --confirm-text-may-leave."
    return said


def _paused_lines(study: Study, preview: Preview) -> Iterator[str]:
    """Runs of this rater that are paused: what waits in them counts as asked, and only they go on with it."""
    if not preview.is_known:
        return
    runs = study.runs.filter(model_rater__rater__name=preview.name, checks=None, state=RunState.PAUSED)
    for run in runs.select_related("study").order_by("pk"):
        n_waiting = run.calls.filter(state__in=OPEN_CALL_STATES).count()
        if not n_waiting:
            continue
        helps = "give it a larger budget and resume it" if run.pause == Pause.BUDGET else "resume it"
        calls = "1 call waits" if n_waiting == 1 else f"{n_waiting:,} calls wait"
        yield f"Run {run.pk} of this rater is paused, and {calls} in it: {helps} on its page, {_address_of(run)}"


def _address_of(run: Run) -> str:
    return f"{settings.BASE_URL}{reverse('llm:run', args=[run.study.slug, run.pk])}"


def _last_problem(run: Run) -> str:
    return run.calls.exclude(problem="").order_by("-finished_at").values_list("problem", flat=True).first() or ""
