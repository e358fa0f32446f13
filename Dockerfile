# One image for web, worker and beat; docker-compose.yml says which command each runs.
FROM python:3.13-slim

ENV PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1 \
    OPENBLAS_NUM_THREADS=1 \
    ACCORD_VAR=/var/lib/accord

RUN useradd --system --create-home accord && install -d -o accord -g accord /var/lib/accord
WORKDIR /srv/accord

COPY requirements.txt .
RUN pip install --no-cache-dir -r requirements.txt

COPY manage.py pyproject.toml LICENSE ./
COPY config config
COPY apps apps
COPY templates templates
COPY static static

USER accord
EXPOSE 8000
CMD ["gunicorn", "config.wsgi", "--bind", "0.0.0.0:8000", "--worker-class", "gthread", "--workers", "2", "--threads", "4", "--keep-alive", "30"]
