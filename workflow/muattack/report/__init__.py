"""The report: one HTML page that holds a whole run, texts included, and needs neither network nor server."""
