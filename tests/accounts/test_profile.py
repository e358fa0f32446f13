"""One's own name."""


def test_the_name_is_saved(sign_in, rosa):
    response = sign_in(rosa).post("/accounts/profile/", {"name": "Rosa L."}, follow=True)
    assert "Your name is saved." in response.text
    rosa.refresh_from_db()
    assert rosa.name == "Rosa L."


def test_nothing_else_can_be_changed_with_it(sign_in, rosa):
    fields = {"name": "Rosa", "role": "admin", "email": "other@example.org", "is_active": ""}
    sign_in(rosa).post("/accounts/profile/", fields)
    rosa.refresh_from_db()
    assert (rosa.role, rosa.email, rosa.is_active) == ("researcher", "rosa@example.org", True)


def test_a_name_that_is_too_long_is_refused_with_a_sentence(sign_in, rosa):
    response = sign_in(rosa).post("/accounts/profile/", {"name": "x" * 151})
    assert response.status_code == 422
    assert "at most 150 characters" in response.text
    rosa.refresh_from_db()
    assert rosa.name == "Rosa"


def test_a_script_in_the_name_is_shown_as_text(sign_in, rosa):
    """CASES 35: in the header of every page, too."""
    response = sign_in(rosa).post("/accounts/profile/", {"name": "<img src=x onerror=alert(1)>"}, follow=True)
    assert "<img" not in response.text
    assert response.text.count("&lt;img src=x onerror=alert(1)&gt;") >= 2


def test_nobody_signed_in_is_sent_to_sign_in(client, db):
    assert client.get("/accounts/profile/")["Location"].startswith("/accounts/sign-in/")


def test_other_methods_are_refused(sign_in, rosa):
    assert sign_in(rosa).delete("/accounts/profile/").status_code == 405
