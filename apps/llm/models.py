"""Models as raters: where they answer, what they are asked, and every request that was sent.

A rater is a `ModelRater`: a prompt version put to one endpoint with fixed parameters and a fixed number of samples. A
run asks it about items. `Call` is one question of a run, `Exchange` one request sent for it, `CallAnswer` what the
reply says on one scale. Texts of people stand in prompts: nothing here is shown to who may not see ratings.
"""

from decimal import Decimal

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.common.models import Job, TimeStamped
from apps.frameworks.models import Dimension, Framework
from apps.llm.addresses import is_loopback
from apps.llm.faults import Fault
from apps.llm.providers.protocol import can_send
from apps.llm.templates import PromptTemplate, Use
from apps.studies.models import Item, Rater, Study


class Provider(models.TextChoices):
    OPENAI = "openai", _("OpenAI, or any server that speaks its protocol")
    ANTHROPIC = "anthropic", _("Anthropic")
    GOOGLE = "google", _("Google")


class ResponseFormat(models.TextChoices):
    """How a server is told to answer in JSON. What it sends is read just as strictly in each case."""

    JSON_SCHEMA = "json_schema", _("JSON schema")
    JSON_OBJECT_SCHEMA = "json_object_schema", _("JSON object with a schema (llama.cpp)")
    JSON_OBJECT = "json_object", _("JSON object")
    NONE = "none", _("in words only")


class MaxTokensName(models.TextChoices):
    """What the OpenAI protocol calls the limit of the answer: newer models of OpenAI know only the longer name."""

    MAX_TOKENS = "max_tokens", "max_tokens"
    MAX_COMPLETION_TOKENS = "max_completion_tokens", "max_completion_tokens"


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def in_use(self) -> "EndpointQuerySet":
        """Those that new runs may be put to."""
        return self.filter(retired_at=None)


class Endpoint(TimeStamped):
    """One model on one server. Set up by admins: the row names an environment variable, and where its key is sent.

    What makes it another rater (provider, base URL, model, response format) stays as it is once a `ModelRater` uses it;
    prices, limits and the variable's name may change.
    """

    name = models.SlugField(max_length=80, unique=True, help_text="As it is named in commands and lists")
    provider = models.CharField(max_length=10, choices=Provider, default=Provider.OPENAI)
    base_url = models.URLField(
        max_length=500, blank=True, help_text="Empty: the provider's own. For example http://127.0.0.1:8001/v1"
    )
    model = models.CharField(max_length=200, help_text="As the provider calls it")
    key_variable = models.CharField(
        max_length=100, blank=True, help_text="Name of the environment variable that holds the key; empty: none needed"
    )
    response_format = models.CharField(max_length=20, choices=ResponseFormat, default=ResponseFormat.JSON_SCHEMA)
    max_tokens_name = models.CharField(max_length=30, choices=MaxTokensName, default=MaxTokensName.MAX_TOKENS)
    takes_temperature = models.BooleanField(default=True)
    takes_seed = models.BooleanField(default=False)
    reply_tokens = models.PositiveIntegerField(default=1000, help_text="The most an answer may have")
    context_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Prompt and answer together; empty: not known"
    )
    price_input = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="For a million tokens; empty: not known"
    )
    price_output = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True, help_text="For a million tokens; empty: not known"
    )
    currency = models.CharField(max_length=3, default="USD")
    max_concurrent = models.PositiveSmallIntegerField(
        default=4, help_text="Requests in flight, of all workers together"
    )
    requests_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: no limit")
    tokens_per_minute = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: no limit")
    timeout_seconds = models.PositiveSmallIntegerField(default=120)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="endpoints"
    )
    retired_at = models.DateTimeField(null=True, blank=True, help_text="No new runs since")
    held_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Nothing is sent before: it asked for that, or is out of order"
    )
    failed_in_a_row = models.PositiveIntegerField(
        default=0, editable=False, help_text="Failures without an answer between: see `services.outages`"
    )
    failing_since = models.DateTimeField(null=True, blank=True, editable=False, help_text="The first of them")

    objects = EndpointQuerySet.as_manager()

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(max_concurrent__gte=1, timeout_seconds__gte=1, reply_tokens__gte=1),
                name="llm_endpoint_limits_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_loopback(self) -> bool:
        """Whether what is sent stays on this machine."""
        return is_loopback(self.base_url)

    @property
    def sends_temperature(self) -> bool:
        """Whether one that is chosen reaches the model. A row may claim more than its protocol has."""
        return self.takes_temperature and can_send(self.provider, "temperature")

    @property
    def sends_seed(self) -> bool:
        return self.takes_seed and can_send(self.provider, "seed")

    @property
    def has_prices(self) -> bool:
        return self.price_input is not None and self.price_output is not None

    def cost_of(self, input_tokens: int | None, output_tokens: int | None) -> Decimal | None:
        """What so many tokens cost; None where a price or a number of tokens is not known."""
        if self.price_input is None or self.price_output is None or input_tokens is None or output_tokens is None:
            return None
        return (self.price_input * input_tokens + self.price_output * output_tokens) / 1_000_000


class SlotLease(models.Model):
    """Requests in flight that one worker may have at an endpoint, until it is gone or gives them back."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="slot_leases")
    holder = models.CharField(max_length=36, unique=True, help_text="A worker's number for one stretch of work")
    slots = models.PositiveSmallIntegerField()
    until = models.DateTimeField()

    class Meta:
        ordering = ["endpoint_id", "pk"]

    def __str__(self) -> str:
        return f"{self.slots} slots of {self.endpoint_id}"


class EndpointTest(TimeStamped):
    """One made-up conversation put to an endpoint on one scale, to see that it answers and how."""

    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="tests")
    job = models.OneToOneField(Job, on_delete=models.PROTECT, related_name="+")
    reply = models.TextField(blank=True)
    score = models.CharField(max_length=40, blank=True, help_text="As it was read; empty: invalid or no reply")
    problem = models.TextField(blank=True, help_text="Why there is no reply, or why it is invalid")
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"test of {self.endpoint}"


class TextConsent(models.Model):
    """Somebody who manages the study said that its text may leave for the endpoint."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="text_consents")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="text_consents")
    given_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="text_consents"
    )
    given_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["study_id", "pk"]
        constraints = [models.UniqueConstraint(fields=["study", "endpoint"], name="llm_textconsent_once")]

    def __str__(self) -> str:
        return f"{self.study} to {self.endpoint}"


# --- What is asked --------------------------------------------------------------------------------------------------


class Prompt(TimeStamped):
    """A prompt of a study under one name, in versions."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="prompts")
    name = models.CharField(max_length=60)

    class Meta:
        ordering = ["study_id", "name"]
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="llm_prompt_name")]

    def __str__(self) -> str:
        return self.name


class PromptVersion(TimeStamped):
    """What is asked, never changed afterwards: two texts, the frameworks, the examples, and what may be answered."""

    prompt = models.ForeignKey(Prompt, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    use = models.CharField(max_length=10, choices=[(use.value, use.value) for use in Use])
    system = models.TextField(blank=True)
    user = models.TextField()
    cannot_tell = models.BooleanField(default=True, help_text="The model may say that it cannot tell")
    example_seed = models.PositiveIntegerField(null=True, blank=True, help_text="Empty: no examples were drawn by lot")
    prompt_format = models.PositiveSmallIntegerField(help_text="Of the texts around the template")
    note = models.CharField(max_length=200, blank=True, help_text="What changed, for the list of versions")
    frameworks = models.ManyToManyField(Framework, related_name="prompt_versions")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="prompt_versions"
    )

    class Meta:
        ordering = ["prompt_id", "-number"]
        constraints = [models.UniqueConstraint(fields=["prompt", "number"], name="llm_promptversion_number")]

    def __str__(self) -> str:
        return f"{self.prompt.name} v{self.number}"

    @property
    def template(self) -> PromptTemplate:
        return PromptTemplate(Use(self.use), self.system, self.user)


class PromptExample(models.Model):
    """An item whose conversation a version shows for a scale, with the experts' median when the version was made."""

    version = models.ForeignKey(PromptVersion, on_delete=models.CASCADE, related_name="examples")
    dimension = models.ForeignKey(Dimension, on_delete=models.PROTECT, related_name="+")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="shown_as_example")
    slot = models.CharField(max_length=6, choices=[(slot, slot) for slot in ("low", "middle", "high")])
    score = models.FloatField()

    class Meta:
        ordering = ["version_id", "dimension_id", "pk"]
        constraints = [models.UniqueConstraint(fields=["version", "dimension", "slot"], name="llm_promptexample_slot")]

    def __str__(self) -> str:
        return f"{self.slot}: {self.item_id} on {self.dimension_id}"


class ModelRater(TimeStamped):
    """A model as a rater of a study: a prompt version, an endpoint as it was, parameters, and samples. Frozen.

    parameters: those that are sent (`temperature`, `seed`, `max_tokens`); what is left out is left to the provider.
    """

    rater = models.OneToOneField(Rater, on_delete=models.PROTECT, related_name="model_rater")
    version = models.ForeignKey(PromptVersion, on_delete=models.PROTECT, related_name="model_raters")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="model_raters")
    provider = models.CharField(max_length=10, choices=Provider)
    base_url = models.CharField(max_length=500, blank=True)
    model = models.CharField(max_length=200)
    response_format = models.CharField(max_length=20, choices=ResponseFormat)
    parameters = models.JSONField(default=dict)
    samples = models.PositiveSmallIntegerField(default=1, help_text="Answers asked for to each question")
    content_hash = models.CharField(max_length=64, help_text="SHA-256 of all that makes it this rater")

    class Meta:
        ordering = ["rater_id"]
        indexes = [models.Index(fields=["content_hash"])]

    def __str__(self) -> str:
        return self.rater.name


# --- Runs -----------------------------------------------------------------------------------------------------------


class RunState(models.TextChoices):
    READY = "ready", _("Ready")
    RUNNING = "running", _("Running")
    PAUSED = "paused", _("Paused")
    DONE = "done", _("Done")
    CANCELLED = "cancelled", _("Cancelled")


class Pause(models.TextChoices):
    """Why a run stands still."""

    HAND = "hand", _("paused by hand")
    BUDGET = "budget", _("the budget is used up")
    KEY = "key", _("the key is missing or was refused")
    QUOTA = "quota", _("the account's quota is used up")
    NOT_FOUND = "not_found", _("the address or the model is not there")
    FAILING = "failing", _("one call after another fails")
    SETUP = "setup", _("the run cannot go on as it is set up")


class RunQuerySet(models.QuerySet["Run"]):
    def open(self) -> "RunQuerySet":
        """Runs that are neither done nor cancelled."""
        return self.exclude(state__in=(RunState.DONE, RunState.CANCELLED))


class Run(TimeStamped):
    """A model asked about items of a study. Its calls are rows before anything is sent.

    A run with `checks` asks once more with the points reversed, for comparison only: it records no ratings.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="runs")
    model_rater = models.ForeignKey(ModelRater, on_delete=models.PROTECT, related_name="runs")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="runs")
    checks = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="reversed_runs",
        help_text="The run whose answers are asked for again, points reversed",
    )
    state = models.CharField(max_length=10, choices=RunState, default=RunState.READY)
    pause = models.CharField(max_length=10, choices=Pause, blank=True)
    pause_detail = models.TextField(blank=True, help_text="What the provider said")
    budget = models.DecimalField(max_digits=12, decimal_places=2, null=True, blank=True)
    left_out = models.JSONField(
        default=list, blank=True, help_text="Items not asked about: [block, external id, reason], the first of them"
    )
    left_out_counts = models.JSONField(default=dict, blank=True, help_text="reason -> how many items")
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.PROTECT, related_name="runs"
    )
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    alive_at = models.DateTimeField(null=True, blank=True, help_text="When a worker last took up calls of it")

    objects = RunQuerySet.as_manager()

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["state", "alive_at"])]

    def __str__(self) -> str:
        return f"run {self.pk} of {self.model_rater}"

    @property
    def is_open(self) -> bool:
        return self.state not in (RunState.DONE, RunState.CANCELLED)

    @property
    def is_check(self) -> bool:
        return self.checks_id is not None


class CallState(models.TextChoices):
    PENDING = "pending", _("Waiting")
    RUNNING = "running", _("In hand")
    DONE = "done", _("Done")
    INVALID = "invalid", _("Invalid reply")
    FAILED = "failed", _("Failed")
    CANCELLED = "cancelled", _("Cancelled")


OPEN_CALL_STATES = (CallState.PENDING, CallState.RUNNING)


class Call(TimeStamped):
    """One question of a run: an item, on one scale or a whole framework, for the sample-th time.

    `claim` is the exchange that holds it while it runs, until `lease_until`: only that one may store its outcome.
    `is_repair`: the next request asks again for what was invalid in the first reply.
    """

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="calls")
    key = models.CharField(max_length=250, help_text="item/framework/dimension/sample; - for a whole framework")
    position = models.PositiveIntegerField(help_text="Order in the run")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="calls")
    framework = models.ForeignKey(Framework, on_delete=models.PROTECT, related_name="+")
    dimension = models.ForeignKey(Dimension, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    sample = models.PositiveSmallIntegerField(default=0)
    state = models.CharField(max_length=10, choices=CallState, default=CallState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Requests sent for the present question")
    is_repair = models.BooleanField(default=False)
    not_before = models.DateTimeField(null=True, blank=True, help_text="Waits so long before it is tried again")
    lease_until = models.DateTimeField(null=True, blank=True)
    claim = models.ForeignKey("Exchange", null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    problem = models.TextField(blank=True, help_text="Why it failed, or is invalid")
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["run_id", "position"]
        constraints = [models.UniqueConstraint(fields=["run", "key"], name="llm_call_once")]
        indexes = [
            models.Index(fields=["run", "state", "position"]),
            models.Index(fields=["item", "framework"]),
            models.Index(fields=["state", "lease_until"]),
        ]

    def __str__(self) -> str:
        return self.key


class ExchangeState(models.TextChoices):
    SENT = "sent", _("Sent")
    ANSWERED = "answered", _("Answered")
    FAILED = "failed", _("Failed")
    LOST = "lost", _("Lost on its way")


class Exchange(models.Model):
    """One request, and what came back. A row before it is sent, so that no request is forgotten.

    LOST: its worker was gone before it could store an answer; it may or may not have been sent, and may be billed.
    """

    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="exchanges")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.PROTECT, related_name="exchanges")
    state = models.CharField(max_length=10, choices=ExchangeState, default=ExchangeState.SENT)
    is_repair = models.BooleanField(default=False)
    sent_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    request_hash = models.CharField(max_length=64, blank=True)
    request = models.TextField(blank=True, help_text="JSON of what was sent, without the key")
    reply = models.TextField(blank=True, help_text="The model's words, as they came")
    raw = models.TextField(blank=True, help_text="The server's whole answer")
    http_status = models.PositiveSmallIntegerField(null=True, blank=True)
    problem = models.TextField(blank=True)
    may_be_billed = models.BooleanField(default=False, help_text="It failed, and the provider may charge for it")
    finish_reason = models.CharField(max_length=60, blank=True)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    estimated_tokens = models.PositiveIntegerField(default=0, help_text="Of prompt and answer, before it was sent")
    input_tokens = models.PositiveIntegerField(null=True, blank=True)
    output_tokens = models.PositiveIntegerField(null=True, blank=True)
    cost = models.DecimalField(max_digits=20, decimal_places=8, null=True, blank=True, help_text="Empty: not known")

    class Meta:
        ordering = ["call_id", "pk"]
        indexes = [
            models.Index(fields=["endpoint", "sent_at"]),
            models.Index(fields=["state"]),
            # What a run has cost so far is asked every few seconds: summed in the index, past all the texts.
            models.Index(
                fields=["call", "state", "is_repair", "cost", "input_tokens", "output_tokens"], name="llm_exchange_sums"
            ),
        ]

    def __str__(self) -> str:
        return f"request {self.pk} for {self.call_id}"


class CallAnswer(models.Model):
    """What a call's replies say on one scale, after a repair where there was one."""

    call = models.ForeignKey(Call, on_delete=models.CASCADE, related_name="answers")
    dimension = models.ForeignKey(Dimension, on_delete=models.PROTECT, related_name="+")
    value = models.FloatField(null=True, blank=True)
    cannot_tell = models.BooleanField(default=False)
    rationale = models.TextField(blank=True)
    evidence = models.JSONField(default=list, blank=True, help_text="Quotes with their places: see `services.quotes`")
    fault = models.CharField(max_length=20, blank=True, choices=[(fault.value, fault.value) for fault in Fault])
    reason = models.TextField(blank=True, help_text="Why it is invalid")
    notes = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["call_id", "dimension_id"]
        constraints = [
            models.UniqueConstraint(fields=["call", "dimension"], name="llm_callanswer_once"),
            models.CheckConstraint(
                condition=Q(value__isnull=True) | Q(cannot_tell=False, fault=""), name="llm_callanswer_one_thing"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.call_id}/{self.dimension_id}"

    @property
    def is_valid(self) -> bool:
        return not self.fault


# --- Baselines and checks -------------------------------------------------------------------------------------------


class BaselineRule(models.TextChoices):
    CONSTANT = "constant", _("Constant: the experts' most frequent point")
    LEXICAL = "lexical", _("Lexical: counts of words and questions")


class Baseline(TimeStamped):
    """A rule that rates without any network, as a rater of the kind baseline."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="baselines")
    rater = models.OneToOneField(Rater, on_delete=models.PROTECT, related_name="baseline")
    rule = models.CharField(max_length=10, choices=BaselineRule)
    job = models.ForeignKey(Job, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    computed_at = models.DateTimeField(null=True, blank=True)
    details = models.JSONField(default=list, blank=True, help_text="For each scale of each block: what it used")

    class Meta:
        ordering = ["study_id", "rule"]
        constraints = [models.UniqueConstraint(fields=["study", "rule"], name="llm_baseline_rule")]

    def __str__(self) -> str:
        return self.rater.name


class BiasCheck(TimeStamped):
    """Figures on what moves a model's scores besides the conversation, as they were when somebody asked for them."""

    run = models.ForeignKey(Run, on_delete=models.PROTECT, related_name="bias_checks")
    job = models.OneToOneField(Job, null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    results = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"checks of run {self.run_id}"
