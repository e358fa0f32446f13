from django.urls import path

from apps.studies.views import blocks, invitations, people, progress, setup, status, studies

app_name = "studies"
urlpatterns = [
    path("", studies.study_list, name="list"),
    path("new/", setup.study_new, name="new"),
    path("<slug:slug>/", studies.overview, name="overview"),
    path("<slug:slug>/exclusions/", studies.exclusions, name="exclusions"),
    path("<slug:slug>/exclusions/<int:pk>/revert/", studies.exclusion_revert, name="exclusion-revert"),
    path("<slug:slug>/settings/", setup.settings, name="settings"),
    path("<slug:slug>/copy/", setup.copy, name="copy"),
    path("<slug:slug>/delete/", setup.delete, name="delete"),
    path("<slug:slug>/blocks/new/", blocks.block_new, name="block-new"),
    path("<slug:slug>/blocks/<slug:block_slug>/", blocks.block, name="block"),
    path("<slug:slug>/blocks/<slug:block_slug>/remove/", blocks.block_remove, name="block-remove"),
    path("<slug:slug>/blocks/<slug:block_slug>/move/", blocks.block_move, name="block-move"),
    path("<slug:slug>/activate/", status.study_activate, name="activate"),
    path("<slug:slug>/draft/", status.study_draft, name="draft"),
    path("<slug:slug>/close/", status.study_close, name="close"),
    path("<slug:slug>/reopen/", status.study_reopen, name="reopen"),
    path("<slug:slug>/discussion/", status.discussion, name="discussion"),
    path("<slug:slug>/raters/", progress.raters, name="raters"),
    path("<slug:slug>/raters/skipped/", progress.skipped, name="skipped"),
    path("<slug:slug>/people/", people.people, name="people"),
    path("<slug:slug>/people/add/", people.member_add, name="member-add"),
    path("<slug:slug>/people/invite/", invitations.invite, name="invite"),
    path("<slug:slug>/people/start-rating/", people.rating_join, name="rating-join"),
    path("<slug:slug>/people/stop-rating/", people.rating_leave, name="rating-leave"),
    path("<slug:slug>/people/<int:pk>/", people.member, name="member"),
    path("<slug:slug>/people/<int:pk>/role/", people.member_role, name="member-role"),
    path("<slug:slug>/people/<int:pk>/remove/", people.member_remove, name="member-remove"),
    path("<slug:slug>/invitations/", invitations.invitations, name="invitations"),
    path("<slug:slug>/invitations/<int:pk>/revoke/", invitations.invitation_revoke, name="invitation-revoke"),
    path("<slug:slug>/invitations/<int:pk>/renew/", invitations.invitation_renew, name="invitation-renew"),
]
