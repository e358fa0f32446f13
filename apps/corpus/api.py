"""Datasets and conversations over REST: read-only, for researchers and admins. Others find nothing."""

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.generics import GenericAPIView, ListAPIView, RetrieveAPIView

from apps.accounts.models import User
from apps.corpus.forms.search import ConversationSearchForm
from apps.corpus.models import Conversation, ConversationQuerySet, Dataset, DatasetQuerySet, Turn


def visible_datasets(view: GenericAPIView[Any]) -> DatasetQuerySet:
    if getattr(view, "swagger_fake_view", False):
        return Dataset.objects.none()
    return Dataset.objects.visible_to(cast("User", view.request.user))


def conversations_of(view: GenericAPIView[Any]) -> ConversationQuerySet:
    if getattr(view, "swagger_fake_view", False):
        return Conversation.objects.none()
    dataset = get_object_or_404(visible_datasets(view), slug=view.kwargs["slug"])
    return dataset.conversations.all()


class DatasetSerializer(serializers.ModelSerializer[Dataset]):
    n_conversations = serializers.IntegerField(read_only=True)

    class Meta:
        model = Dataset
        fields: ClassVar = ["slug", "name", "description", "source", "licence", "created_at", "n_conversations"]
        read_only_fields = fields


@extend_schema(summary="Datasets you may see")
class DatasetListApi(ListAPIView[Dataset]):
    serializer_class = DatasetSerializer

    def get_queryset(self) -> QuerySet[Dataset]:
        return visible_datasets(self).with_counts()


@extend_schema(summary="One dataset")
class DatasetApi(RetrieveAPIView[Dataset]):
    serializer_class = DatasetSerializer
    lookup_field = "slug"

    def get_queryset(self) -> QuerySet[Dataset]:
        return visible_datasets(self).with_counts()


ABOUT_CONVERSATION = [
    "id",
    "external_id",
    "position",
    "title",
    "language",
    "reference",
    "belief",
    "pair",
    "parent",
    "metadata",
    "factors",
]


@extend_schema(
    summary="Conversations of a dataset, without their turns",
    parameters=[OpenApiParameter("q", str, description="Only those whose id in the source, or title, contains this")],
)
class ConversationListApi(ListAPIView[Conversation]):
    class ConversationSummarySerializer(serializers.ModelSerializer[Conversation]):
        n_turns = serializers.IntegerField(read_only=True, help_text="System turns included; 0: no text was published")
        factors = serializers.DictField(child=serializers.CharField(), read_only=True)

        class Meta:
            model = Conversation
            fields: ClassVar = [*ABOUT_CONVERSATION, "n_turns"]
            read_only_fields = fields

    serializer_class = ConversationSummarySerializer

    def get_queryset(self) -> QuerySet[Conversation]:
        conversations = conversations_of(self).with_counts()
        if getattr(self, "swagger_fake_view", False):
            return conversations
        search = ConversationSearchForm(self.request.query_params)
        if not search.is_valid():
            raise ValidationError({"q": [str(error) for error in search.errors["q"]]})
        return conversations.matching(search.cleaned_data["q"]) if search.cleaned_data["q"] else conversations


@extend_schema(summary="One conversation with its turns")
class ConversationApi(RetrieveAPIView[Conversation]):
    class ConversationSerializer(serializers.ModelSerializer[Conversation]):
        class TurnSerializer(serializers.ModelSerializer[Turn]):
            class Meta:
                model = Turn
                fields: ClassVar = ["index", "role", "speaker", "text", "raw_text"]
                read_only_fields = fields

        turns = TurnSerializer(many=True, read_only=True)
        factors = serializers.DictField(child=serializers.CharField(), read_only=True)

        class Meta:
            model = Conversation
            fields: ClassVar = [*ABOUT_CONVERSATION, "turns"]
            read_only_fields = fields

    serializer_class = ConversationSerializer

    def get_queryset(self) -> QuerySet[Conversation]:
        return conversations_of(self).prefetch_related("turns")


urlpatterns = [
    path("datasets/", DatasetListApi.as_view(), name="api-datasets"),
    path("datasets/<slug:slug>/", DatasetApi.as_view(), name="api-dataset"),
    path("datasets/<slug:slug>/conversations/", ConversationListApi.as_view(), name="api-conversations"),
    path("datasets/<slug:slug>/conversations/<int:pk>/", ConversationApi.as_view(), name="api-conversation"),
]
