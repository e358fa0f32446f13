"""An endpoint is tried: one made-up conversation on one scale, sent by a worker, and what came back is kept."""

from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.accounts.models import User
from apps.common.models import OPEN_STATES, Job, JobState
from apps.common.services.jobs import JobRefused, Outcome, Reporter, create_job
from apps.llm.answers import CANNOT_TELL, point_text
from apps.llm.evidence import EvidenceMatcher, MatchedQuote
from apps.llm.json_reading import Reading
from apps.llm.long_texts import LongText, beginning_of
from apps.llm.models import Endpoint, EndpointTest
from apps.llm.prompts import Prompt, PromptError
from apps.llm.providers.protocol import Completion, ErrorKind, Parameters, ProviderError
from apps.llm.providers.registry import provider_for
from apps.llm.replies import ScaleAnswer, parse_scale_reply, storable_text
from apps.llm.services.endpoints import target_of
from apps.llm.services.made_up import allowed_answers, prompt_for, quotable_turns
from apps.llm.services.reading import usage_problem
from apps.llm.tokens import believed

TEST_TASK = "llm.test_endpoint"
MOST_PROBLEM = 4_000  # characters of what a server says of a failure
SEED = 1


@dataclass(frozen=True, slots=True)
class ReadTest:
    """A test as it is shown: how its reply is read, its quotes with their places, and its cost at today's prices."""

    test: EndpointTest
    answer: ScaleAnswer | None
    reading: Reading | None
    quotes: list[MatchedQuote]
    cost: Decimal | None

    @property
    def reply(self) -> LongText:
        return beginning_of(self.test.reply)

    @property
    def rationale(self) -> LongText:
        return beginning_of(self.answer.rationale if self.answer else "")


def request_test(*, endpoint: Endpoint, by: User) -> EndpointTest:
    """A test with its job, which the caller starts. One that waits or runs already is that one."""
    with transaction.atomic():
        # Of two clicks at once the second finds what the first has made.
        row = Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        waiting = row.tests.filter(job__state__in=OPEN_STATES).select_related("job").first()
        if waiting is not None:
            return waiting
        address = reverse("endpoints:endpoint", args=[row.name])
        job = create_job(
            kind="endpoint.test",
            task=TEST_TASK,
            title=_("Test of the endpoint %(name)s") % {"name": row.name},
            owner=by,
            back_url=address,
        )
        return EndpointTest.objects.create(endpoint=row, job=job)


def run_test(job: Job, reporter: Reporter) -> Outcome:
    """The work of a test's job. A worker that dies meanwhile leaves it to the next, which asks once more.

    Raises JobRefused with what to do where no reply comes; the test then keeps that, too.
    """
    test = EndpointTest.objects.select_related("endpoint").get(job=job)
    endpoint = test.endpoint
    reporter.step(_("Waiting for the model's answer"))
    try:
        completion = _ask(endpoint, prompt_for(endpoint))
    except PromptError as error:
        raise _refused(test, str(error), "") from None
    except ProviderError as error:
        said = storable_text(error.message)[:MOST_PROBLEM]
        test.latency_ms = error.latency_ms or None
        raise _refused(test, advice_for(endpoint, error), said) from None
    with transaction.atomic():
        answer = _keep(test, completion)
        outcome = Outcome(_message(answer), url=reverse("endpoints:endpoint", args=[endpoint.name]))
        reporter.finish(outcome)
    return outcome


def read_test(test: EndpointTest) -> ReadTest:
    """The test with its reply read again: as strictly as it was, and nothing more is stored of it."""
    cost = test.endpoint.cost_of(test.input_tokens, test.output_tokens)
    if test.job.state != JobState.DONE:
        return ReadTest(test, None, None, [], cost)
    parsed = parse_scale_reply(test.reply, allowed_answers())
    [answer] = parsed.answers
    matcher = EvidenceMatcher(quotable_turns())
    return ReadTest(test, answer, parsed.reading, [matcher.match(quote) for quote in answer.evidence], cost)


def advice_for(endpoint: Endpoint, error: ProviderError) -> str:
    """What kind of failure it was, and what to do about it; never what the server said."""
    texts = {
        ErrorKind.NOT_FOUND: _(
            "The address or the model is not there. Compare the base URL (most end in /v1) and the model's name with "
            "what the server offers."
        ),
        ErrorKind.RATE: _("The provider asks to wait: too many requests. Try again in a while."),
        ErrorKind.QUOTA: _("The account has nothing left. Look at its balance and limits with the provider."),
        ErrorKind.REFUSED: _(
            "The server refused the request. It may not know one of the settings: try another form of the answer, the "
            "other name for the limit, or without temperature and seed."
        ),
        ErrorKind.SETUP: _("The worker cannot ask this provider as it is set up. A package may be missing."),
    }
    if error.kind is ErrorKind.KEY:
        return _advice_on_the_key(endpoint, error)
    if error.kind is ErrorKind.PASSING and error.http_status:
        return _("The server answered with an error of its own. Try again in a while, or look at the server.")
    if error.kind is ErrorKind.PASSING:
        return _(
            "Nothing answered at this address. See that the server runs, that the worker's machine reaches it, "
            "and that the address has the right port; a model that is still being loaded needs a while."
        )
    return texts[error.kind]


def _advice_on_the_key(endpoint: Endpoint, error: ProviderError) -> str:
    if not endpoint.key_variable:
        return _("The server asks for a key, and the endpoint names no variable that holds one. Name it.")
    if error.http_status is None:
        return _("The worker has no usable key. Once its environment is mended, start the worker again.")
    return _(
        "The server refused the key. Compare what the worker's environment holds with what the provider gave you, and "
        "see that it may use this model."
    )


def _ask(endpoint: Endpoint, prompt: Prompt) -> Completion:
    """Raises ProviderError."""
    parameters = Parameters(
        max_tokens=endpoint.reply_tokens,
        temperature=0.0 if endpoint.sends_temperature else None,
        seed=SEED if endpoint.sends_seed else None,
    )
    return provider_for(target_of(endpoint)).complete(prompt.messages, prompt.schema, parameters)


def _keep(test: EndpointTest, completion: Completion) -> ScaleAnswer:
    test.reply = storable_text(completion.text)
    [answer] = parse_scale_reply(test.reply, allowed_answers()).answers
    test.problem = " ".join(sentence for sentence in (answer.reason, usage_problem(completion)) if sentence)
    test.score = _score_of(answer)
    test.latency_ms = completion.latency_ms
    test.input_tokens, test.output_tokens = believed(completion.input_tokens), believed(completion.output_tokens)
    test.save()
    return answer


def _score_of(answer: ScaleAnswer) -> str:
    if answer.is_cannot_tell:
        return CANNOT_TELL
    return "" if answer.score is None else point_text(answer.score)


def _message(answer: ScaleAnswer) -> str:
    if answer.is_valid:
        return _("The model answered as it was asked to.")
    return _("The model answered, but not as it was asked to: a run would count this reply as invalid.")


def _refused(test: EndpointTest, advice: str, said: str) -> JobRefused:
    test.problem = f"{advice}\n\n{said}" if said else advice
    test.save()
    return JobRefused(advice, [said] if said else [])
