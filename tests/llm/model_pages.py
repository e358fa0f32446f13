"""The pages of a study's models for the walk through every page."""

from django.urls import reverse

from apps.accounts.models import User
from apps.llm.models import Pause, RunState
from apps.studies.models import Study
from tests.llm.worlds import answer_all, make_endpoint, make_run, make_version

# No line breaks in it by itself.
LONG_NAME = "accounts/fireworks/models/llama4_maverick_instruct v2"


def pages_of_models(owner: User, study: Study) -> dict[str, str]:
    """Runs in several states; an endpoint far away that needs leave and a key."""
    near = make_endpoint("near", price_input=1, price_output=4)
    far = make_endpoint("far", url="https://models.example.org/v1", key_variable="NO_SUCH_KEY", model="m" * 60)
    make_version(study)
    answer_all(make_run(study, near, name="judge-one", created_by=owner))
    make_run(study, near, name=LONG_NAME, state=RunState.RUNNING, budget=3)
    make_run(study, far, name="judge-three", state=RunState.PAUSED, pause=Pause.KEY)
    new = reverse("llm:run-new", args=[study.slug])
    return {
        "llm:home": reverse("llm:home", args=[study.slug]),
        "llm:run-new": new,
        "llm:run-new, chosen before": f"{new}?endpoint=near",
    }
