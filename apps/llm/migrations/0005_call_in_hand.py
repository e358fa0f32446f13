from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("llm", "0004_wider_costs"),
    ]

    operations = [
        migrations.AlterField(
            model_name="call",
            name="state",
            field=models.CharField(
                choices=[
                    ("pending", "Waiting"),
                    ("running", "In hand"),
                    ("done", "Done"),
                    ("invalid", "Invalid reply"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="pending",
                max_length=10,
            ),
        ),
    ]
