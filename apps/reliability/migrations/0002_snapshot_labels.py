from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('reliability', '0001_snapshots'),
    ]

    operations = [
        migrations.AddField(
            model_name='snapshot',
            name='labels',
            field=models.JSONField(default=dict, help_text='Blocks, frameworks and scales in words (labels.py)'),
        ),
        migrations.AlterField(
            model_name='snapshot',
            name='account',
            field=models.JSONField(default=dict, help_text='What took part or did not, and why (accounting.py)'),
        ),
        # A text that was no JSON becomes one: the old marks are of no use.
        migrations.RemoveField(model_name='snapshot', name='mark'),
        migrations.AddField(
            model_name='snapshot',
            name='mark',
            field=models.JSONField(default=dict, help_text='State of the study when these were last its results'),
        ),
    ]
