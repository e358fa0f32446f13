app_name = "corpus"
urlpatterns: list = []
