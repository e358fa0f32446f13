"""The endpoints that models answer at, beneath `/endpoints/`."""

from django.urls import path

from apps.llm.views import endpoints as views

app_name = "endpoints"
urlpatterns = [
    path("", views.endpoint_list, name="list"),
    path("new/", views.endpoint_new, name="new"),
    path("<slug:name>/", views.endpoint, name="endpoint"),
    path("<slug:name>/edit/", views.endpoint_edit, name="edit"),
    path("<slug:name>/reply/", views.endpoint_reply, name="reply"),
    path("<slug:name>/test/", views.endpoint_test, name="test"),
    path("<slug:name>/retire/", views.endpoint_retire, name="retire"),
    path("<slug:name>/return/", views.endpoint_return, name="return"),
]
