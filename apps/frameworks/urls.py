from django.urls import path

from apps.frameworks import views

app_name = "frameworks"
urlpatterns = [
    path("", views.framework_list, name="list"),
    path("upload/", views.framework_upload, name="upload"),
    path("upload/from/<slug:slug>/<int:version>/", views.framework_start_from, name="start-from"),
    path("<slug:slug>/", views.framework, name="detail"),
    path("<slug:slug>/<int:version>/", views.framework, name="version"),
    path("<slug:slug>/<int:version>/framework.yaml", views.framework_file, name="yaml"),
]
