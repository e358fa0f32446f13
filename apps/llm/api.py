"""Endpoints and runs over REST, read-only: the former for researchers, the latter for whoever works with their study.

How a run goes is said here, and no score.
"""

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.llm.models import Endpoint, Run, RunState
from apps.llm.services.progress import ErrorGroup, RunProgress, progress_of
from apps.llm.services.run_listing import RunRow, listed_runs, runs_of
from apps.studies.models import Study


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    stays_on_this_machine = serializers.BooleanField(
        source="is_loopback", read_only=True, help_text="Whether what is sent does not leave the server's machine."
    )
    key_variable = serializers.SerializerMethodField(
        help_text="Name of the environment variable that holds the key; null to everybody but admins. Never the key."
    )

    class Meta:
        model = Endpoint
        fields: ClassVar = [
            "name",
            "provider",
            "base_url",
            "model",
            "stays_on_this_machine",
            "key_variable",
            "response_format",
            "takes_temperature",
            "takes_seed",
            "reply_tokens",
            "context_tokens",
            "price_input",
            "price_output",
            "currency",
            "max_concurrent",
            "requests_per_minute",
            "tokens_per_minute",
            "timeout_seconds",
            "created_at",
            "retired_at",
        ]
        read_only_fields = fields

    @extend_schema_field({"type": "string", "nullable": True})
    def get_key_variable(self, endpoint: Endpoint) -> str | None:
        return endpoint.key_variable if cast("User", self.context["request"].user).is_admin else None


def visible_endpoints(view: GenericAPIView[Any]) -> QuerySet[Endpoint]:
    if getattr(view, "swagger_fake_view", False):
        return Endpoint.objects.none()
    is_researcher = cast("User", view.request.user).is_researcher
    return Endpoint.objects.all() if is_researcher else Endpoint.objects.none()


@extend_schema(summary="Endpoints of models")
class EndpointListApi(ListAPIView[Endpoint]):
    serializer_class = EndpointSerializer

    def get_queryset(self) -> QuerySet[Endpoint]:
        return visible_endpoints(self)


@extend_schema(summary="One endpoint")
class EndpointApi(RetrieveAPIView[Endpoint]):
    serializer_class = EndpointSerializer
    lookup_field = "name"

    def get_queryset(self) -> QuerySet[Endpoint]:
        return visible_endpoints(self)


class RunRowSerializer(serializers.Serializer[RunRow]):
    """A run in the list: how its calls stand, and what it has cost."""

    id = serializers.IntegerField(source="run.pk")
    rater = serializers.CharField(source="run.model_rater.rater.name")
    prompt = serializers.CharField(source="run.model_rater.version")
    endpoint = serializers.CharField(source="run.endpoint.name")
    model = serializers.CharField(source="run.model_rater.model")
    checks = serializers.IntegerField(source="run.checks_id", allow_null=True, help_text="The run that it asks again.")
    state = serializers.ChoiceField(source="run.state", choices=[(one.value, one.value) for one in RunState])
    pause = serializers.CharField(source="run.pause", help_text="Why it stands still; empty where it does not.")
    created_at = serializers.DateTimeField(source="run.created_at")
    started_at = serializers.DateTimeField(source="run.started_at", allow_null=True)
    finished_at = serializers.DateTimeField(source="run.finished_at", allow_null=True)
    calls = serializers.DictField(child=serializers.IntegerField(), help_text="State of calls -> how many.")
    cost = serializers.DecimalField(max_digits=20, decimal_places=8, help_text="Of the requests whose cost is known.")
    is_cost_known = serializers.BooleanField(help_text="Whether that is all of them.")
    budget = serializers.DecimalField(source="run.budget", max_digits=12, decimal_places=2, allow_null=True)
    currency = serializers.CharField(source="run.endpoint.currency")


class RunErrorSerializer(serializers.Serializer[ErrorGroup]):
    kind = serializers.CharField()
    http_status = serializers.IntegerField(allow_null=True)
    count = serializers.IntegerField()
    last_at = serializers.DateTimeField(allow_null=True)


class RunProgressSerializer(serializers.Serializer[RunProgress]):
    """How far a run is. What is not known is null."""

    n_calls = serializers.IntegerField()
    n_final = serializers.IntegerField(help_text="Calls that have ended, however they did.")
    n_requests = serializers.IntegerField()
    n_answered = serializers.IntegerField()
    n_failed_requests = serializers.IntegerField()
    n_in_flight = serializers.IntegerField()
    n_lost = serializers.IntegerField(help_text="Lost with their worker; they may have been billed.")
    n_repairs = serializers.IntegerField(help_text="Requests for what was invalid in a first reply.")
    n_repeats = serializers.IntegerField(help_text="Requests after one that brought nothing.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    n_cost_unknown = serializers.IntegerField(help_text="Requests answered without a known cost.")
    n_ratings = serializers.IntegerField(help_text="Of the rater, from all its runs.")
    rate = serializers.FloatField(allow_null=True, help_text="Answers a minute, over the last two minutes at most.")
    seconds_left = serializers.IntegerField(allow_null=True)
    has_worker = serializers.BooleanField(help_text="Whether a worker was seen within 30 seconds.")
    held_until = serializers.DateTimeField(
        allow_null=True, help_text="Nothing is sent before: the provider asked for that, or does not answer."
    )
    failures = RunErrorSerializer(source="errors", many=True, help_text="The latest ones, by kind.")


class RunSerializer(RunRowSerializer):
    progress = RunProgressSerializer()


@extend_schema(summary="Runs of models of a study", responses=RunRowSerializer(many=True))
class RunListApi(ListAPIView[Run]):
    serializer_class = RunRowSerializer  # type: ignore[assignment]

    def get_queryset(self) -> QuerySet[Run]:
        if getattr(self, "swagger_fake_view", False):
            return Run.objects.none()
        studies = Study.objects.readable_by(cast("User", self.request.user))
        return runs_of(get_object_or_404(studies, slug=self.kwargs["slug"]))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.get_queryset())
        rows = listed_runs(cast("list[Run]", page))
        return self.get_paginated_response(RunRowSerializer(cast("Any", rows), many=True).data)


class RunApi(APIView):
    @extend_schema(summary="How far a run is", responses=RunSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        study = get_object_or_404(Study.objects.readable_by(cast("User", request.user)), slug=slug)
        run = get_object_or_404(runs_of(study), pk=pk)
        [row] = listed_runs([run])
        progress = RunProgressSerializer(progress_of(run)).data
        return Response({**RunRowSerializer(row).data, "progress": progress})


urlpatterns = [
    path("studies/<slug:slug>/runs/", RunListApi.as_view(), name="api-study-runs"),
    path("studies/<slug:slug>/runs/<int:pk>/", RunApi.as_view(), name="api-study-run"),
    path("endpoints/", EndpointListApi.as_view(), name="api-endpoints"),
    path("endpoints/<slug:name>/", EndpointApi.as_view(), name="api-endpoint"),
]
