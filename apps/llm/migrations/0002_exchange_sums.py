from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('llm', '0001_initial'),
    ]

    operations = [
        migrations.AddIndex(
            model_name='exchange',
            index=models.Index(fields=['call', 'state', 'is_repair', 'cost', 'input_tokens', 'output_tokens'], name='llm_exchange_sums'),
        ),
    ]
