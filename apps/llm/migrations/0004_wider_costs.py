from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("llm", "0003_outages"),
    ]

    operations = [
        migrations.AlterField(
            model_name="exchange",
            name="cost",
            field=models.DecimalField(
                blank=True, decimal_places=8, help_text="Empty: not known", max_digits=20, null=True
            ),
        ),
    ]
