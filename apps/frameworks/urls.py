app_name = "frameworks"
urlpatterns: list = []
