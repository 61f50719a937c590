"""How pages write moments: to the second, in an order that sorts."""

DATETIME_FORMAT = SHORT_DATETIME_FORMAT = "Y-m-d H:i:s"
DATE_FORMAT = SHORT_DATE_FORMAT = "Y-m-d"
