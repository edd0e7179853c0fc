"""The operator's page: templates and small modules that use the API like every other client, and the login."""

from matroid_bandits.service.dashboard._pages import docs_page, page_routes

__all__ = ["docs_page", "page_routes"]
