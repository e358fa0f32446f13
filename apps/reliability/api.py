"""The agreement of a study over REST: the same rows as `agreement.csv`, from a snapshot or computed when asked for."""

from typing import Any, cast

from django.shortcuts import get_object_or_404
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.models import User
from apps.measures.pairs import Convention
from apps.reliability.agreement import Agreement, Settings
from apps.reliability.documents import Report, meta_of, row_as_dict
from apps.reliability.services.agreements import TooManyComparisonsError, agreement_of_study, kept_agreement
from apps.studies.models import Study
from apps.studies.services.blindness import may_see_ratings

# An answer is computed while somebody waits: fewer resamples than in a report, and a bound on what one may ask for.
# A comparison is all statistics of one pair or group; it costs about 3 ms, and as much again for 200 resamples.
DEFAULT_RESAMPLES = 200
MOST_RESAMPLES = 2000
MOST_COMPARISONS = 2000


def most_comparisons(resamples: int) -> int:
    """How many comparisons one answer may hold: fewer where each is resampled more often than usual."""
    return MOST_COMPARISONS * DEFAULT_RESAMPLES // max(resamples, DEFAULT_RESAMPLES)


class Query(serializers.Serializer[Any]):
    """What may be asked for. A parameter of another name is refused: it would be a misspelt one, silently ignored."""

    convention = serializers.ChoiceField(
        choices=[(one.value, one.value) for one in Convention],
        default=Convention.SCALE.value,
        help_text="Of weighted kappa.",
    )
    block = serializers.SlugField(required=False, help_text="Only this block.")
    framework = serializers.SlugField(required=False, help_text="Only this framework.")
    bootstrap = serializers.IntegerField(
        min_value=0, max_value=MOST_RESAMPLES, default=DEFAULT_RESAMPLES, help_text="Resamples for intervals; 0: none."
    )
    all_pairs = serializers.BooleanField(default=False, help_text="Crowd workers one by one as well.")
    pool_models = serializers.BooleanField(default=False, help_text="The models' median as well.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        unknown = sorted(set(self.initial_data) - set(self.fields))
        if unknown:
            raise ValidationError(
                _("Unknown parameter %(names)s; expected one of %(known)s.")
                % {"names": ", ".join(unknown), "known": ", ".join(self.fields)}
            )
        return attrs


class StudyAgreement(APIView):
    """Who agrees with whom, scale by scale."""

    class AgreementSerializer(serializers.Serializer[Any]):
        class AgreementRowSerializer(serializers.Serializer[Any]):
            block = serializers.CharField()
            framework = serializers.CharField()
            dimension = serializers.CharField()
            statistic = serializers.CharField()
            a = serializers.CharField(help_text="The reference side, or the group.")
            b = serializers.CharField(help_text="Empty for a statistic over a whole group.")
            convention = serializers.CharField()
            value = serializers.FloatField(allow_null=True, help_text="Null where undefined: see reason.")
            ci_low = serializers.FloatField(allow_null=True)
            ci_high = serializers.FloatField(allow_null=True)
            p_value = serializers.FloatField(allow_null=True)
            p_adjusted = serializers.FloatField(allow_null=True)
            n_items = serializers.IntegerField()
            n_raters = serializers.IntegerField()
            n_ratings = serializers.IntegerField()
            n_degenerate = serializers.IntegerField(help_text="Resamples in which the statistic was undefined.")
            reason = serializers.CharField(help_text="Why there is no value.")

        meta = serializers.DictField(help_text="Convention, seed, resamples, versions, and the hash of the data.")
        rows = AgreementRowSerializer(many=True)

    @extend_schema(
        summary="The agreement of a study",
        description=(
            "Refused to an owner or researcher who also rates in the study, until discussion is open. At most "
            f"{MOST_COMPARISONS} comparisons (fewer with more resamples) are computed for one answer; the command "
            "`agreement` has no such bound."
        ),
        parameters=[Query],
        responses=AgreementSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        user = cast("User", request.user)
        study = get_object_or_404(Study.objects.readable_by(user), slug=slug)
        if not may_see_ratings(user=user, study=study):
            raise PermissionDenied(
                _("You rate in this study: agreement is shown to you once discussion is open or you stopped rating.")
            )
        query = Query(data=request.query_params)
        query.is_valid(raise_exception=True)
        return Response(_answer(study, query.validated_data))


def _answer(study: Study, query: dict[str, Any]) -> dict[str, Any]:
    """The document without notes and averages. Raises ValidationError."""
    _check_slugs(study, query.get("block"), query.get("framework"))
    chosen = tuple(name for name in ("all_pairs", "pool_models") if query[name])
    agreement = _agreement(study, query)
    meta = meta_of(Report(agreement, timezone.now(), study=study.slug, options=chosen))
    return {"meta": meta, "rows": [row_as_dict(row) for row in agreement.rows]}


def _agreement(study: Study, query: dict[str, Any]) -> Agreement:
    """From a snapshot of these very ratings and settings where there is one, else computed."""
    most = most_comparisons(query["bootstrap"])
    wanted: dict[str, Any] = {
        "study": study,
        "settings": Settings(Convention(query["convention"]), query["bootstrap"], study.seed),
        "block": query.get("block"),
        "framework": query.get("framework"),
        "most_comparisons": most,
    }
    plan = {"all_pairs": query["all_pairs"], "pool_models": query["pool_models"]}
    try:
        kept = None if any(plan.values()) else kept_agreement(**wanted)
        return kept or agreement_of_study(**wanted, **plan)
    except TooManyComparisonsError as error:
        raise ValidationError(
            _(
                "These are %(total)d comparisons, and at most %(most)d can be computed while you wait. Ask for one "
                "block or framework, or for fewer resamples."
            )
            % {"total": error.total, "most": most}
        ) from None


def _check_slugs(study: Study, block: str | None, framework: str | None) -> None:
    """A block or framework that the study does not have is named, with those it has."""
    used = list(study.blocks.order_by("position").values_list("slug", "frameworks__slug"))
    if block is not None:
        _check_slug("block", block, [slug for slug, _framework in used])
        used = [pair for pair in used if pair[0] == block]
    if framework is not None:
        _check_slug("framework", framework, [slug for _block, slug in used if slug])


def _check_slug(name: str, given: str, known: list[str]) -> None:
    if given not in known:
        text = _("%(given)s is not used here; expected one of %(known)s.")
        raise ValidationError({name: [text % {"given": given, "known": ", ".join(dict.fromkeys(known))}]})


urlpatterns = [path("studies/<slug:slug>/agreement/", StudyAgreement.as_view(), name="api-study-agreement")]
