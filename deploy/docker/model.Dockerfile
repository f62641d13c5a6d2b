# The image of ragd with a model inside and its licence, so that the first start fetches nothing. hack/package-model.sh makes the
# folder from which it is built.
ARG BASE=ragd:latest
FROM ${BASE}
COPY models /usr/share/ragd/models
COPY doc /usr/share/doc
ENV RAGD_MODELS_DIR=/usr/share/ragd/models
