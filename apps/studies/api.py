"""Studies over REST, read-only, for those who work with their design and results."""

from typing import Any, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView, RetrieveAPIView

from apps.accounts.models import User
from apps.studies.models import Block, BlockFramework, BlockGroup, Rater, Study, StudyQuerySet


def readable_studies(view: GenericAPIView[Any]) -> StudyQuerySet:
    if getattr(view, "swagger_fake_view", False):
        return Study.objects.none()
    return Study.objects.readable_by(cast("User", view.request.user))


def study_of(view: GenericAPIView[Any]) -> Study:
    return get_object_or_404(readable_studies(view), slug=view.kwargs["slug"])


class StudySerializer(serializers.ModelSerializer[Study]):
    n_blocks = serializers.IntegerField(read_only=True)
    n_items = serializers.IntegerField(read_only=True)
    n_raters = serializers.IntegerField(read_only=True)

    class Meta:
        model = Study
        fields = (
            "slug",
            "title",
            "description",
            "instructions",
            "content_warning",
            "support_contact",
            "status",
            "discussion_open",
            "allow_evidence",
            "allow_comments",
            "allow_cannot_tell",
            "reservation_hours",
            "exclusion_reopens_slots",
            "model_scores_sealed",
            "local_only",
            "seed",
            "created_at",
            "n_blocks",
            "n_items",
            "n_raters",
        )


@extend_schema(summary="Studies you work with")
class StudyList(ListAPIView[Study]):
    serializer_class = StudySerializer

    def get_queryset(self) -> QuerySet[Study]:
        return readable_studies(self).with_counts()


@extend_schema(summary="One study")
class StudyDetail(RetrieveAPIView[Study]):
    serializer_class = StudySerializer
    lookup_field = "slug"

    def get_queryset(self) -> QuerySet[Study]:
        return readable_studies(self).with_counts()


@extend_schema(summary="What a study has rated: its blocks")
class BlockList(ListAPIView[Block]):
    class BlockSerializer(serializers.ModelSerializer[Block]):
        class BlockFrameworkSerializer(serializers.ModelSerializer[BlockFramework]):
            slug = serializers.SlugField(source="framework.slug", read_only=True)
            version = serializers.IntegerField(source="framework.version", read_only=True)

            class Meta:
                model = BlockFramework
                fields = ("slug", "version")

        class BlockGroupSerializer(serializers.ModelSerializer[BlockGroup]):
            class Meta:
                model = BlockGroup
                fields = ("kind", "overlap")

        dataset = serializers.SlugRelatedField[Block](slug_field="slug", read_only=True)
        frameworks = BlockFrameworkSerializer(source="block_frameworks", many=True, read_only=True)
        groups = BlockGroupSerializer(many=True, read_only=True)
        n_items = serializers.IntegerField(read_only=True)

        class Meta:
            model = Block
            fields = (
                "slug",
                "title",
                "position",
                "dataset",
                "frameworks",
                "sample_size",
                "metadata_filter",
                "groups",
                "n_items",
            )

    serializer_class = BlockSerializer

    def get_queryset(self) -> QuerySet[Block]:
        if getattr(self, "swagger_fake_view", False):
            return Block.objects.none()
        blocks = study_of(self).blocks.with_item_counts()
        return blocks.select_related("dataset").prefetch_related("block_frameworks__framework", "groups")


@extend_schema(summary="Who rates in a study, under pseudonyms")
class RaterList(ListAPIView[Rater]):
    class RaterSerializer(serializers.ModelSerializer[Rater]):
        n_ratings = serializers.IntegerField(read_only=True)

        class Meta:
            model = Rater
            fields = ("name", "kind", "is_aggregate", "is_simulated", "left_at", "n_ratings")

    serializer_class = RaterSerializer

    def get_queryset(self) -> QuerySet[Rater]:
        if getattr(self, "swagger_fake_view", False):
            return Rater.objects.none()
        return study_of(self).raters.with_rating_counts()


urlpatterns = [
    path("studies/", StudyList.as_view(), name="api-studies"),
    path("studies/<slug:slug>/", StudyDetail.as_view(), name="api-study"),
    path("studies/<slug:slug>/blocks/", BlockList.as_view(), name="api-study-blocks"),
    path("studies/<slug:slug>/raters/", RaterList.as_view(), name="api-study-raters"),
]
