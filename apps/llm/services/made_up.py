"""The made-up conversation that endpoints are tried with. Nobody's words: it may be sent anywhere."""

from functools import cache

from django.utils.translation import gettext_lazy as _

from apps.annotation.evidence import TurnText
from apps.frameworks.framework_file import read_framework
from apps.frameworks.scales import DimensionSpec, FrameworkSpec
from apps.frameworks.services.catalog import CATALOG
from apps.llm.answers import AllowedAnswers
from apps.llm.default_templates import DEFAULT_TEMPLATES
from apps.llm.models import Endpoint
from apps.llm.prompts import Prompt, PromptOptions, render_scale_prompt
from apps.llm.templates import Use
from apps.llm.transcript import PromptTurn

FRAMEWORK_FILE = "empathetic-dialogues.yaml"
SCALE = "empathy"
TURNS = (
    PromptTurn("seeker", "I moved to a new town in spring. On Sundays I walk along the river and know nobody I meet."),
    PromptTurn("supporter", "Walking past so many strangers can feel lonely. What were Sundays like before you moved?"),
    PromptTurn("seeker", "My brother and I cooked together. Now we only talk on the phone."),
    PromptTurn(
        "supporter",
        "So it is the cooking side by side that you miss, not only his voice. It makes sense that Sundays are hard.",
    ),
)
SPEAKERS = {"seeker": _("Seeker"), "supporter": _("Supporter")}


@cache
def framework() -> FrameworkSpec:
    """The framework of the scale, from its file: it need not be loaded into the database."""
    return read_framework((CATALOG / FRAMEWORK_FILE).read_bytes())


def scale() -> DimensionSpec:
    return next(dimension for dimension in framework().dimensions if dimension.slug == SCALE)


def allowed_answers() -> AllowedAnswers:
    return AllowedAnswers.to_scale(scale(), cannot_tell=True)


def quotable_turns() -> list[TurnText]:
    return [TurnText(number, turn.role == "supporter", turn.text) for number, turn in enumerate(TURNS)]


def prompt_for(endpoint: Endpoint) -> Prompt:
    """The conversation and the scale by the default template. Raises PromptTooLongError for a very short context."""
    options = PromptOptions(
        cannot_tell=True, context_tokens=endpoint.context_tokens, reply_tokens=endpoint.reply_tokens
    )
    return render_scale_prompt(DEFAULT_TEMPLATES[Use.SCALE], framework(), SCALE, TURNS, options)
