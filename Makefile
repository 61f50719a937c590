.PHONY: help demo up test check

help: ## this text
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

demo: ## run the main job end to end with its own server and runner
	python3 -m venv .venv && .venv/bin/pip install -q -r requirements.txt && .venv/bin/python manage.py demo

up: ## start the embedded server on http://localhost:6610
	.venv/bin/python manage.py up

test: ## install what is missing and run every test
	bash tests/run

check: ## lint, types and import contracts
	.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/lint-imports && .venv/bin/mypy .
