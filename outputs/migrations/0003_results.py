from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("outputs", "0002_registry")]
    operations = [migrations.DeleteModel("Alert"), migrations.DeleteModel("Boundary"), migrations.DeleteModel("HeadVersion")]
