"""Run by the chaos test in a process with the site's own settings: sets a run up, sends tasks, tells what is stored.

Commands come on standard input, one line each; the answer to each is one line of JSON.
"""

import json
import os
import sys
from collections import Counter
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.db.models import Count  # noqa: E402

from apps.accounts.models import Role  # noqa: E402
from apps.annotation.models import Rating, RatingEvent  # noqa: E402
from apps.llm.models import Call, CallAnswer, Endpoint, Exchange, Run  # noqa: E402
from apps.llm.services.controls import start_run  # noqa: E402
from apps.llm.services.model_raters import ensure_model_rater  # noqa: E402
from apps.llm.services.planning import RunSelection, create_run  # noqa: E402
from apps.llm.services.progress import progress_of  # noqa: E402
from apps.llm.services.prompting import default_version  # noqa: E402
from apps.llm.tasks import trigger_endpoint  # noqa: E402
from config.celery import app  # noqa: E402
from tests.conftest import make_dataset, make_framework, make_study, make_user  # noqa: E402

CONVERSATIONS, SCALES, SLOTS = 20, 6, 8


def set_up(base_url: str) -> dict[str, Any]:
    """A run of 120 calls that is started, of a study of its own."""
    call_command("migrate", verbosity=0)
    owner = make_user("owner@example.org", Role.RESEARCHER, "Owner")
    dataset = make_dataset(conversations=CONVERSATIONS, owner=owner)
    study = make_study("chaos", owner=owner, dataset=dataset, frameworks=[make_framework(dimensions=SCALES)])
    endpoint = Endpoint.objects.create(
        name="fake", base_url=base_url, model="fake", max_concurrent=SLOTS, timeout_seconds=2
    )
    version = default_version(study=study, by=owner)
    model_rater = ensure_model_rater(version=version, endpoint=endpoint, by=owner)
    run = create_run(study=study, model_rater=model_rater, selection=RunSelection(), by=owner)
    with transaction.atomic():
        start_run(run=run, by=owner)
        trigger_endpoint(endpoint.pk)
    return {"calls": run.calls.count()}


def send() -> dict[str, Any]:
    """Each task twice."""
    endpoint = Endpoint.objects.get()
    for _ in range(2):
        app.send_task("llm.work", args=[endpoint.pk], retry=False)
        app.send_task("llm.sweep", retry=False)
    return {}


def state() -> dict[str, Any]:
    run = Run.objects.get()
    calls = Counter(run.calls.values_list("state", flat=True))
    return {"run": run.state, "pause": run.pause, "detail": run.pause_detail, "calls": calls}


def stored() -> dict[str, Any]:
    """Everything that has to fit together at the end."""
    answers = CallAnswer.objects.filter(fault="", cannot_tell=False)
    ratings = {
        (rating.item_id, rating.dimension_id): rating.value for rating in Rating.objects.filter(rater__kind="llm")
    }
    events = RatingEvent.objects.values_list("rating").annotate(n=Count("pk"))
    after = [
        call.pk
        for call in Call.objects.filter(state="done").prefetch_related("exchanges")
        if any(one.pk > _answer_of(call) for one in call.exchanges.all())
    ]
    progress = progress_of(Run.objects.get())
    return {
        "exchanges": Counter(Exchange.objects.values_list("state", flat=True)),
        "problems": Counter(Exchange.objects.exclude(problem="").values_list("problem", flat=True)),
        "answers": sorted(
            [answer.call.item_id, answer.dimension_id, answer.value] for answer in answers.select_related("call")
        ),
        "ratings": sorted([item, dimension, value] for (item, dimension), value in ratings.items()),
        "events_of_a_rating": sorted({n for _, n in events}),
        "requests_after_an_answer": after,
        "told_lost": progress.n_lost,
    }


def _answer_of(call: Call) -> int:
    """The request whose answer ended the call."""
    return max(one.pk for one in call.exchanges.all() if one.state == "answered")


COMMANDS = {"send": send, "state": state, "stored": stored}


def main() -> None:
    print(json.dumps(set_up(sys.argv[1])), flush=True)
    for line in sys.stdin:
        try:
            answer = COMMANDS[line.strip()]()
        except Exception as error:  # a broker that is down, say: the test goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        connection.close_if_unusable_or_obsolete()
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
