"""Reports of a study over REST: listed, asked for, followed while they are built, and their files downloaded."""

from typing import Any, cast

from django.db.models import QuerySet
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.exceptions import NotFound, PermissionDenied, ValidationError
from rest_framework.generics import ListAPIView, RetrieveAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.common.tasks import start_job
from apps.corpus.parsing.records import text_fault
from apps.measures.pairs import Convention
from apps.reliability.agreement import DEFAULT_RESAMPLES
from apps.reliability.models import Snapshot
from apps.reports.contents import DEFAULT_THRESHOLD, Format, Part, Stars
from apps.reports.models import StoredReport, StoredReportFile
from apps.reports.plans import FULL_REPORT, MOST_RESAMPLES, ReportPlan
from apps.reports.sending import sent_file
from apps.reports.services.listing import reports_of
from apps.reports.services.requesting import PlanError, request_report
from apps.studies.models import Study
from apps.studies.selection import ChoiceError, checked_choice
from apps.studies.services.blindness import may_see_ratings

# Names in one list: what somebody chooses, and not what fills a database's memory.
MOST_NAMES = 5_000


def study_in_sight(user: User, slug: str) -> Study:
    """The study, for those who work with it and are not blind to its ratings. Raises Http404, PermissionDenied."""
    study = get_object_or_404(Study.objects.readable_by(user), slug=slug)
    if not may_see_ratings(user=user, study=study):
        raise PermissionDenied(
            _("You rate in this study: reports are shown to you once discussion is open or you stopped rating.")
        )
    return study


def _values_of(names: type[Convention] | type[Format] | type[Part] | type[Stars]) -> list[tuple[str, str]]:
    return [(one.value, one.value) for one in names]


class ReportFileSerializer(serializers.ModelSerializer[StoredReportFile]):
    url = serializers.SerializerMethodField(help_text="Where it is downloaded, with the same token.")

    class Meta:
        model = StoredReportFile
        fields = ("name", "content_type", "size", "sha256", "url")

    @extend_schema_field(OpenApiTypes.URI)
    def get_url(self, file: StoredReportFile) -> str:
        parts = {"slug": self.context["slug"], "pk": file.report_id, "name": file.name}
        return reverse("api-study-report-file", kwargs=parts, request=self.context["request"])


class ReportSnapshotSerializer(serializers.ModelSerializer[Snapshot]):
    class Meta:
        model = Snapshot
        fields = ("created_at", "data_hash", "seed", "resamples", "versions", "n_ratings", "n_raters", "n_tables")


class ReportSerializer(serializers.ModelSerializer[StoredReport]):
    """`options` are those of `ReportPlan`: selection, resamples, and what is shown in which files."""

    state = serializers.CharField(source="job.state", help_text="queued, running, done, failed or cancelled")
    step = serializers.CharField(source="job.step", help_text="What is done just now.")
    done = serializers.IntegerField(source="job.done")
    total = serializers.IntegerField(source="job.total", allow_null=True)
    message = serializers.CharField(source="job.message", help_text="How it ended, in a sentence.")
    methods = serializers.SerializerMethodField(help_text="Paragraphs for a paper, then references; empty until built.")
    snapshot = ReportSnapshotSerializer(allow_null=True, help_text="What it is made from; null until it is built.")
    files = ReportFileSerializer(many=True, help_text="Empty until it is built.")

    class Meta:
        model = StoredReport
        fields = (
            "id",
            "title",
            "created_at",
            "state",
            "step",
            "done",
            "total",
            "message",
            "options",
            "methods",
            "snapshot",
            "files",
        )

    @extend_schema_field(serializers.ListField(child=serializers.CharField()))
    def get_methods(self, report: StoredReport) -> list[str]:
        summary = report.summary
        short = [summary["methods_short"]] if summary.get("methods_short") else []
        return [*short, *summary.get("methods", []), *summary.get("references", [])]


class NewReportSerializer(serializers.Serializer[Any]):
    """What a report is to hold. Nothing given: the full report. A name that is not listed is refused."""

    title = serializers.CharField(required=False, max_length=200)
    formats = serializers.ListField(
        child=serializers.ChoiceField(choices=_values_of(Format)), default=list(FULL_REPORT), allow_empty=False
    )
    convention = serializers.ChoiceField(choices=_values_of(Convention), default=Convention.SCALE.value)
    stars = serializers.ChoiceField(choices=_values_of(Stars), default=Stars.ADJUSTED.value)
    threshold = serializers.FloatField(min_value=0, max_value=1, default=DEFAULT_THRESHOLD)
    resamples = serializers.IntegerField(min_value=0, max_value=MOST_RESAMPLES, default=DEFAULT_RESAMPLES)
    parts = serializers.ListField(
        child=serializers.ChoiceField(choices=_values_of(Part)), default=list(Part), allow_empty=False
    )
    block = serializers.CharField(default="", allow_blank=True, help_text="Only this block.")
    framework = serializers.CharField(default="", allow_blank=True, help_text="Only this framework.")
    groups = serializers.ListField(
        child=serializers.CharField(),
        default=[],
        max_length=MOST_NAMES,
        help_text="Only among these: experts, crowd, llms ...",
    )
    raters = serializers.ListField(
        child=serializers.CharField(), default=[], max_length=MOST_NAMES, help_text="Only figures of these."
    )
    metadata = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(allow_blank=True), max_length=MOST_NAMES),
        default={},
        help_text="Only conversations with one of these values under each name: meta.NAME, factor.NAME, language.",
    )
    all_figures = serializers.BooleanField(
        default=False, help_text="The figures of each scale and rater as well, not only those of the whole study."
    )
    with_excluded = serializers.BooleanField(default=False, help_text="Excluded ratings take part all the same.")

    def validate_title(self, title: str) -> str:
        if fault := text_fault(title):
            raise ValidationError(fault)
        return " ".join(title.split())

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if unknown := sorted(set(self.initial_data) - set(self.fields)):
            text = _("Unknown %(names)s; expected one of %(known)s.")
            raise ValidationError(text % {"names": ", ".join(unknown), "known": ", ".join(self.fields)})
        try:
            attrs["plan"] = _plan_of(attrs)
        except (ValueError, ChoiceError) as error:
            raise ValidationError(str(error)) from None
        return attrs


class ReportList(ListAPIView[StoredReport]):
    serializer_class = ReportSerializer

    def get_queryset(self) -> QuerySet[StoredReport]:
        if getattr(self, "swagger_fake_view", False):
            return StoredReport.objects.none()
        return reports_of(study_in_sight(cast("User", self.request.user), self.kwargs["slug"]))

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "slug": self.kwargs.get("slug", "")}

    @extend_schema(summary="Reports of a study, the latest first")
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return super().get(request, *args, **kwargs)

    @extend_schema(
        summary="Build a report",
        description="It is built in the background: ask for it until its state is done. The same asked for again "
        "while it waits or is built is that one.",
        request=NewReportSerializer,
        responses={201: ReportSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        user = cast("User", request.user)
        study = study_in_sight(user, slug)
        given = NewReportSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        data = given.validated_data
        title = data.get("title") or (_("Agreement in %(study)s") % {"study": study.title})[:200]
        try:
            report = request_report(study=study, title=title, plan=data["plan"], by=user)
        except PlanError as problem:
            raise ValidationError({problem.field: [str(problem)]}) from None
        start_job(report.job)
        shown = ReportSerializer(
            get_object_or_404(reports_of(study), pk=report.pk), context=self.get_serializer_context()
        )
        return Response(shown.data, status=status.HTTP_201_CREATED)


@extend_schema(summary="One report, with its files")
class ReportDetail(RetrieveAPIView[StoredReport]):
    serializer_class = ReportSerializer

    def get_queryset(self) -> QuerySet[StoredReport]:
        if getattr(self, "swagger_fake_view", False):
            return StoredReport.objects.none()
        return reports_of(study_in_sight(cast("User", self.request.user), self.kwargs["slug"]))

    def get_serializer_context(self) -> dict[str, Any]:
        return {**super().get_serializer_context(), "slug": self.kwargs.get("slug", "")}


class ReportFile(APIView):
    @extend_schema(
        summary="A file of a report",
        description="Its ETag is its SHA-256.",
        responses={(200, "application/octet-stream"): OpenApiResponse(OpenApiTypes.BINARY)},
    )
    def get(self, request: Request, slug: str, pk: int, name: str) -> HttpResponseBase:
        study = study_in_sight(cast("User", request.user), slug)
        if text_fault(name):
            raise NotFound
        files = StoredReportFile.objects.filter(report__study=study, report__pk=pk).select_related("report__study")
        answer = sent_file(request._request, get_object_or_404(files, name=name))
        if answer is None:
            raise NotFound(_("The file is no longer on this server as it was stored."))
        return answer


def _plan_of(given: dict[str, Any]) -> ReportPlan:
    return ReportPlan.of_choices(given, checked_choice(given["metadata"]))


urlpatterns = [
    path("studies/<slug:slug>/reports/", ReportList.as_view(), name="api-study-reports"),
    path("studies/<slug:slug>/reports/<int:pk>/", ReportDetail.as_view(), name="api-study-report"),
    path("studies/<slug:slug>/reports/<int:pk>/files/<str:name>", ReportFile.as_view(), name="api-study-report-file"),
]
