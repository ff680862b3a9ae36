from .async_client import AsyncClient as AsyncClient, AsyncRemoteStudy as AsyncRemoteStudy
from .client import Client as Client, RemoteStudy as RemoteStudy
from .answers import ServiceDecision as ServiceDecision
