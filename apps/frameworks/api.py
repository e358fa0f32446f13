"""Frameworks over REST: read-only, for anybody who is signed in or has a key."""

from typing import ClassVar

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import serializers
from rest_framework.generics import ListAPIView, RetrieveAPIView

from apps.frameworks.models import Dimension, Framework, FrameworkQuerySet, ScalePoint


@extend_schema(summary="The newest version of each framework")
class FrameworkListApi(ListAPIView[Framework]):
    class FrameworkSummarySerializer(serializers.ModelSerializer[Framework]):
        dimension_count = serializers.IntegerField(read_only=True)

        class Meta:
            model = Framework
            fields: ClassVar = [
                "slug",
                "version",
                "name",
                "description",
                "language",
                "is_builtin",
                "frozen_at",
                "dimension_count",
            ]
            read_only_fields = fields

    serializer_class = FrameworkSummarySerializer

    def get_queryset(self) -> FrameworkQuerySet:
        return Framework.objects.latest_versions().with_dimension_counts()


@extend_schema(summary="The newest version of a framework")
class NewestFrameworkApi(RetrieveAPIView[Framework]):
    """A framework with its dimensions and their points, in the order of the scale."""

    class FrameworkSerializer(serializers.ModelSerializer[Framework]):
        class DimensionSerializer(serializers.ModelSerializer[Dimension]):
            class PointSerializer(serializers.ModelSerializer[ScalePoint]):
                class Meta:
                    model = ScalePoint
                    fields: ClassVar = ["value", "label"]
                    read_only_fields = fields

            level = serializers.CharField(read_only=True, help_text="ordinal or nominal")
            polarity = serializers.CharField(
                source="polarity_name", read_only=True, help_text="+ (more is better), - (less is better) or none"
            )
            points = PointSerializer(many=True, read_only=True)

            class Meta:
                model = Dimension
                fields: ClassVar = [
                    "slug",
                    "label",
                    "question",
                    "guideline",
                    "level",
                    "polarity",
                    "minimum",
                    "maximum",
                    "points",
                    "example_low",
                    "example_middle",
                    "example_high",
                    "source",
                ]
                read_only_fields = fields

        dimensions = DimensionSerializer(many=True, read_only=True)

        class Meta:
            model = Framework
            fields: ClassVar = [
                "slug",
                "version",
                "name",
                "description",
                "citation",
                "url",
                "stem",
                "language",
                "is_builtin",
                "content_hash",
                "frozen_at",
                "dimensions",
            ]
            read_only_fields = fields

    serializer_class = FrameworkSerializer

    def get_object(self) -> Framework:
        return get_object_or_404(Framework.objects.with_scales().version_of(**self.kwargs))


@extend_schema_view(get=extend_schema(summary="A version of a framework", operation_id="frameworks_version_retrieve"))
class FrameworkVersionApi(NewestFrameworkApi):
    """The same for the version that the address names."""


urlpatterns = [
    path("frameworks/", FrameworkListApi.as_view(), name="api-frameworks"),
    path("frameworks/<slug:slug>/", NewestFrameworkApi.as_view(), name="api-framework"),
    path("frameworks/<slug:slug>/<int:version>/", FrameworkVersionApi.as_view(), name="api-framework-version"),
]
