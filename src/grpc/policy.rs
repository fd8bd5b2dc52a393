//! `PolicyService`: every tunable of a namespace, read at the next call.

use std::collections::BTreeMap;

use tonic::{Request, Response, Status};

use super::convert::namespace;
use super::status::Fields;
use super::{Api, in_background};
use crate::core::event::PolicySet;
use crate::core::policy::{KEYS, Policy};
use crate::proto;
use crate::proto::policy_service_server::PolicyService;

#[tonic::async_trait]
impl PolicyService for Api {
    async fn get_policy(
        &self,
        request: Request<proto::GetPolicyRequest>,
    ) -> Result<Response<proto::GetPolicyResponse>, Status> {
        self.serve("/toolcrib.v1.PolicyService/GetPolicy", self.get_all(request.into_inner())).await
    }

    async fn set_policy(
        &self,
        request: Request<proto::SetPolicyRequest>,
    ) -> Result<Response<proto::SetPolicyResponse>, Status> {
        self.serve("/toolcrib.v1.PolicyService/SetPolicy", self.set(request.into_inner())).await
    }
}

impl Api {
    async fn get_all(&self, request: proto::GetPolicyRequest) -> Result<proto::GetPolicyResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        fields.finish()?;
        let handle = self.engine.namespace(&space)?;
        let (policy, version) =
            handle.look(|namespace| (namespace.policy().clone(), namespace.policy_version())).await?;
        let defaults = Policy::default();
        let value = |key: &crate::core::policy::Key| proto::PolicyValue {
            key: key.name.into(),
            value: key.get(&policy),
            default_value: key.get(&defaults),
            accepts: key.accepts.into(),
            unit: key.unit.into(),
            reason: key.reason.into(),
        };
        Ok(proto::GetPolicyResponse { values: KEYS.iter().map(value).collect(), version })
    }

    async fn set(&self, request: proto::SetPolicyRequest) -> Result<proto::SetPolicyResponse, Status> {
        let mut fields = Fields::default();
        let space = namespace(&request.namespace, &mut fields);
        fields.require(!request.values.is_empty(), "values", "must name at least one key");
        fields.finish()?;
        let engine = self.engine.clone();
        let handle = in_background(move || engine.namespace_or_new(&space)).await??;
        let values: BTreeMap<String, String> = request.values.into_iter().collect();
        let set = PolicySet { request_id: request.request_id, actor: super::registry::ACTOR.into(), values };
        let version = handle.set_policy(set, request.expected_version).await?;
        Ok(proto::SetPolicyResponse { version, durable: true })
    }
}
