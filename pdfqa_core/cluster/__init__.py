"""Work that other computers do: pure tasks, each result once. Knows nothing about PDFs or models."""

from pdfqa_core.cluster.base import Cluster, ClusterError, LostError
from pdfqa_core.cluster.ray import INSTALL, RayCluster, named_cluster

__all__ = ["INSTALL", "Cluster", "ClusterError", "LostError", "RayCluster", "named_cluster"]
