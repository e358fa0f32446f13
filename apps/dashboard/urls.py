from django.urls import path

from apps.dashboard.views import home, my_data

app_name = "dashboard"
urlpatterns = [
    path("", home.home, name="home"),
    path("my-data/", my_data.my_data, name="my-data"),
    path("my-data/history/", my_data.history, name="my-data-history"),
    path("my-data/ratings.csv", my_data.ratings_csv, name="my-data-csv"),
    path("my-data/ratings.json", my_data.ratings_json, name="my-data-json"),
]
