from django.urls import path

from apps.annotation.views import items, rating, rating_pages, uploads

app_name = "rating"
urlpatterns = [
    path("<slug:slug>/rate/", rating_pages.start, name="start"),
    path("<slug:slug>/rate/next/", rating_pages.next_item, name="next"),
    path("<slug:slug>/rate/done/", rating_pages.done, name="done"),
    path("<slug:slug>/rate/<int:pk>/", rating.item, name="item"),
    path("<slug:slug>/rate/<int:pk>/save/", rating.save, name="save"),
    path("<slug:slug>/rate/<int:pk>/time/", rating.time, name="time"),
    path("<slug:slug>/rate/<int:pk>/flag/", rating.flag, name="flag"),
    path("<slug:slug>/rate/<int:pk>/skip/", rating.skip, name="skip"),
    path("<slug:slug>/rate/<int:pk>/submit/", rating.submit, name="submit"),
    path("<slug:slug>/ratings/upload/", uploads.upload, name="upload"),
    path("<slug:slug>/ratings/upload/<int:pk>/", uploads.check, name="upload-check"),
    path("<slug:slug>/ratings/upload/<int:pk>/start/", uploads.start, name="upload-start"),
    path("<slug:slug>/items/", items.items, name="items"),
    path("<slug:slug>/items/<int:pk>/", items.item_ratings, name="item-ratings"),
    path("<slug:slug>/preview/", rating_pages.preview, name="preview"),
]
