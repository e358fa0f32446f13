"""How a run stands, in words for pages: why it pauses and what helps, and what kinds of failures are."""

from collections.abc import Mapping
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.llm.models import Pause


class PauseWords(NamedTuple):
    """what: what happened. advice: what to do, for those who manage the study."""

    what: str | Promise
    advice: str | Promise


PAUSES: Mapping[str, PauseWords] = {
    Pause.HAND: PauseWords(_("Somebody paused it."), _("Resume it when you like: nothing is asked twice.")),
    Pause.BUDGET: PauseWords(
        _("The next requests would go beyond the budget."),
        _("What is answered is kept. Give the run a larger budget on its page; then resume it."),
    ),
    Pause.KEY: PauseWords(
        _("The key is missing, or the provider refused it."),
        _("An admin of the site sets the endpoint's key on the server and starts its processes anew; then resume."),
    ),
    Pause.QUOTA: PauseWords(
        _("The account has nothing left at the provider."),
        _("Top the account up, or wait until its quota begins anew; then resume."),
    ),
    Pause.NOT_FOUND: PauseWords(
        _("There is no such address or model at the provider."),
        _("An admin of the site tests the endpoint on its page, and mends what it names; then resume."),
    ),
    Pause.FAILING: PauseWords(
        _("One request after another failed."),
        _("Once the cause is gone, resume. What has failed by then can be tried again."),
    ),
    Pause.SETUP: PauseWords(
        _("The run cannot go on as it is set up."),
        _("What is named here has to change first; then resume."),
    ),
}

# Kinds of `services.progress.ErrorGroup`.
ERRORS: Mapping[str, str | Promise] = {
    "key": _("the key was refused"),
    "quota": _("the account's quota was used up"),
    "not_found": _("the address or the model was not there"),
    "slow": _("the server gave up waiting"),
    "rate": _("too many requests for the provider"),
    "server": _("the server had a fault of its own"),
    "refused": _("the request was refused"),
    "no_answer": _("no answer: no connection, or too slow"),
    "lost": _("lost on its way: its worker was gone before it could store an answer"),
}
