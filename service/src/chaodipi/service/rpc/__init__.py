"""The services: convert, authorise, call the host, convert back. No decisions here."""
