"""Plumbing that the apps' endpoints share."""

from rest_framework.pagination import PageNumberPagination


class Pages(PageNumberPagination):
    """Every list of the API comes in pages: `?page=2&page_size=100`."""

    page_size = 50
    page_size_query_param = "page_size"
    max_page_size = 500
