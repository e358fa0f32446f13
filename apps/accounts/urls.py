from django.urls import path

from apps.accounts import views

app_name = "accounts"
urlpatterns = [
    path("sign-in/", views.SignIn.as_view(), name="sign-in"),
    path("sign-out/", views.SignOut.as_view(), name="sign-out"),
    path("profile/", views.profile, name="profile"),
    path("password/", views.PasswordChange.as_view(), name="password-change"),
    path("password/reset/", views.PasswordReset.as_view(), name="password-reset"),
    path("password/reset/sent/", views.PasswordResetDone.as_view(), name="password-reset-done"),
    path("password/reset/<uidb64>/<token>/", views.PasswordResetConfirm.as_view(), name="password-reset-confirm"),
    path("password/reset/complete/", views.PasswordResetComplete.as_view(), name="password-reset-complete"),
    path("keys/", views.keys, name="keys"),
    path("keys/<int:pk>/revoke/", views.key_revoke, name="key-revoke"),
    path("users/", views.users, name="users"),
    path("users/new/", views.user_new, name="user-new"),
    path("users/<int:pk>/", views.user_detail, name="user"),
    path("users/<int:pk>/role/", views.user_role, name="user-role"),
    path("users/<int:pk>/password-link/", views.user_password_link, name="user-password-link"),
    path("users/<int:pk>/deactivate/", views.user_deactivate, name="user-deactivate"),
    path("users/<int:pk>/reactivate/", views.user_reactivate, name="user-reactivate"),
]
