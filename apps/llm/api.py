"""Endpoints over REST: read-only, for researchers and admins. Others find none."""

from typing import Any, ClassVar, cast

from django.db.models import QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.generics import GenericAPIView, ListAPIView, RetrieveAPIView

from apps.accounts.models import User
from apps.llm.models import Endpoint


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


urlpatterns = [
    path("endpoints/", EndpointListApi.as_view(), name="api-endpoints"),
    path("endpoints/<slug:name>/", EndpointApi.as_view(), name="api-endpoint"),
]
