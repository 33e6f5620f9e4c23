# Secateur in a container:
#
#   docker build -t secateur .
#   docker run --rm -i --init secateur            the UCI loop on stdin and stdout
#   docker run --rm --init secateur bench         any command
#
# The first stage has what installing needs, the second only what playing needs. The Python is the one that the tests
# run on; `--build-arg PYTHON=3.13-slim` takes another.
ARG PYTHON=3.11-slim

FROM python:${PYTHON} AS build
RUN python -m venv /opt/secateur
COPY requirements/play.txt /src/requirements/play.txt
RUN /opt/secateur/bin/python -m pip install --no-cache-dir --require-hashes -r /src/requirements/play.txt
COPY . /src
RUN /opt/secateur/bin/python -m pip install --no-cache-dir --no-deps /src

FROM python:${PYTHON}
RUN useradd --create-home secateur
COPY --from=build /opt/secateur /opt/secateur
USER secateur
WORKDIR /home/secateur
ENV SECATEUR_CACHE_DIR=/home/secateur/kernels
# Kernels are compiled for the processor of the machine that builds. On another kind the engine compiles them again.
RUN /opt/secateur/bin/secateur warmup
ENTRYPOINT ["/opt/secateur/bin/secateur"]
